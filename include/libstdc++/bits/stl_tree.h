/* stl_tree.h - what std::map and std::set do to their nodes, compiled into the program
 *
 * libstdc++.so has these functions, where nothing is traced. Red-black trees as in Cormen et al.,
 * with libstdc++'s header node: parent is the root, left and right the first and last node.
 */
#ifndef HEDDLE_STL_TREE_H
#define HEDDLE_STL_TREE_H
#pragma GCC system_header
#include_next <bits/stl_tree.h>

namespace std _GLIBCXX_VISIBILITY(default)
{
_GLIBCXX_BEGIN_NAMESPACE_VERSION

typedef _Rb_tree_node_base __heddle_node;

/* ---- walking ---- */

inline __heddle_node *_Rb_tree_increment(__heddle_node *__x) throw()
{
    __heddle_node *__y;

    if (__x->_M_right) {
        for (__x = __x->_M_right; __x->_M_left; __x = __x->_M_left)
            ;
        return __x;
    }
    for (__y = __x->_M_parent; __x == __y->_M_right; __y = __y->_M_parent)
        __x = __y;
    return __x->_M_right != __y ? __y : __x; /* equal: the header of a tree with one node */
}

inline const __heddle_node *_Rb_tree_increment(const __heddle_node *__x) throw()
{
    return _Rb_tree_increment(const_cast<__heddle_node *>(__x));
}

inline __heddle_node *_Rb_tree_decrement(__heddle_node *__x) throw()
{
    __heddle_node *__y;

    if (__x->_M_color == _S_red && __x->_M_parent->_M_parent == __x)
        return __x->_M_right; /* the header */
    if (__x->_M_left) {
        for (__x = __x->_M_left; __x->_M_right; __x = __x->_M_right)
            ;
        return __x;
    }
    for (__y = __x->_M_parent; __x == __y->_M_left; __y = __y->_M_parent)
        __x = __y;
    return __y;
}

inline const __heddle_node *_Rb_tree_decrement(const __heddle_node *__x) throw()
{
    return _Rb_tree_decrement(const_cast<__heddle_node *>(__x));
}

/* ---- changing ---- */

/* The child on that side. */
inline __heddle_node *&__heddle_child(__heddle_node *__x, bool __left)
{
    return __left ? __x->_M_left : __x->_M_right;
}

inline bool __heddle_is_red(const __heddle_node *__x)
{
    return __x && __x->_M_color == _S_red;
}

/* __y, if any, takes the place of __x below its parent. */
inline void __heddle_replace(__heddle_node *__x, __heddle_node *__y, __heddle_node &__header)
{
    __heddle_node *__p = __x->_M_parent;

    if (__header._M_parent == __x)
        __header._M_parent = __y;
    else
        __heddle_child(__p, __p->_M_left == __x) = __y;
    if (__y)
        __y->_M_parent = __p;
}

/* __x goes down to the left or right, its other child takes its place. */
inline void __heddle_rotate(__heddle_node *__x, bool __left, __heddle_node &__header)
{
    __heddle_node *__y = __heddle_child(__x, !__left), *__inner = __heddle_child(__y, __left);

    __heddle_child(__x, !__left) = __inner;
    if (__inner)
        __inner->_M_parent = __x;
    __heddle_replace(__x, __y, __header);
    __heddle_child(__y, __left) = __x;
    __x->_M_parent = __y;
}

inline void _Rb_tree_insert_and_rebalance(const bool __insert_left, __heddle_node *__x,
                                          __heddle_node *__p, __heddle_node &__header) throw()
{
    __x->_M_parent = __p;
    __x->_M_left = __x->_M_right = 0;
    __x->_M_color = _S_red;
    if (__p == &__header) {
        __header._M_parent = __header._M_left = __header._M_right = __x;
    } else {
        __heddle_child(__p, __insert_left) = __x;
        if (__insert_left && __p == __header._M_left)
            __header._M_left = __x;
        else if (!__insert_left && __p == __header._M_right)
            __header._M_right = __x;
    }
    while (__x != __header._M_parent && __heddle_is_red(__x->_M_parent)) {
        __heddle_node *__parent = __x->_M_parent, *__above = __parent->_M_parent;
        bool __left = __parent == __above->_M_left;
        __heddle_node *__uncle = __heddle_child(__above, !__left);

        __above->_M_color = _S_red;
        if (__heddle_is_red(__uncle)) {
            __parent->_M_color = __uncle->_M_color = _S_black;
            __x = __above;
            continue;
        }
        if (__x == __heddle_child(__parent, !__left)) {
            __heddle_rotate(__parent, __left, __header);
            __parent = __x;
        }
        __parent->_M_color = _S_black;
        __heddle_rotate(__above, !__left, __header);
        break;
    }
    __header._M_parent->_M_color = _S_black;
}

/* A black node is missing on the way to __x, a child of __p, or NULL. */
inline void __heddle_mend(__heddle_node *__x, __heddle_node *__p, __heddle_node &__header)
{
    while (__x != __header._M_parent && !__heddle_is_red(__x)) {
        bool __left = __x == __p->_M_left;
        __heddle_node *__w = __heddle_child(__p, !__left);

        if (__heddle_is_red(__w)) {
            __w->_M_color = _S_black;
            __p->_M_color = _S_red;
            __heddle_rotate(__p, __left, __header);
            __w = __heddle_child(__p, !__left);
        }
        if (!__heddle_is_red(__w->_M_left) && !__heddle_is_red(__w->_M_right)) {
            __w->_M_color = _S_red;
            __x = __p;
            __p = __p->_M_parent;
            continue;
        }
        if (!__heddle_is_red(__heddle_child(__w, !__left))) {
            __heddle_child(__w, __left)->_M_color = _S_black;
            __w->_M_color = _S_red;
            __heddle_rotate(__w, !__left, __header);
            __w = __heddle_child(__p, !__left);
        }
        __w->_M_color = __p->_M_color;
        __p->_M_color = _S_black;
        __heddle_child(__w, !__left)->_M_color = _S_black;
        __heddle_rotate(__p, __left, __header);
        return;
    }
    if (__x)
        __x->_M_color = _S_black;
}

/* Takes out a node with one child at most; its color is what is missing there. */
inline void __heddle_take_out(__heddle_node *__z, __heddle_node &__header)
{
    __heddle_node *__x = __z->_M_left ? __z->_M_left : __z->_M_right, *__end = __x;

    __heddle_replace(__z, __x, __header);
    if (__header._M_left == __z) { /* then __x is its right child */
        for (; __end && __end->_M_left; __end = __end->_M_left)
            ;
        __header._M_left = __end ? __end : __z->_M_parent;
    }
    __end = __x;
    if (__header._M_right == __z) {
        for (; __end && __end->_M_right; __end = __end->_M_right)
            ;
        __header._M_right = __end ? __end : __z->_M_parent;
    }
    if (__z->_M_color == _S_black)
        __heddle_mend(__x, __z->_M_parent, __header);
}

/* __z has two children: its successor takes its place, then that one's place is taken out. */
inline void __heddle_exchange(__heddle_node *__z, __heddle_node &__header)
{
    __heddle_node *__y = __z->_M_right, *__x, *__p;
    _Rb_tree_color __missing;

    while (__y->_M_left)
        __y = __y->_M_left;
    __x = __y->_M_right;
    __p = __y->_M_parent == __z ? __y : __y->_M_parent;
    __missing = __y->_M_color;
    if (__p != __y) {
        __p->_M_left = __x;
        if (__x)
            __x->_M_parent = __p;
        __y->_M_right = __z->_M_right;
        __y->_M_right->_M_parent = __y;
    }
    __y->_M_left = __z->_M_left;
    __y->_M_left->_M_parent = __y;
    __heddle_replace(__z, __y, __header);
    __y->_M_color = __z->_M_color;
    if (__missing == _S_black)
        __heddle_mend(__x, __p, __header);
}

inline __heddle_node *_Rb_tree_rebalance_for_erase(__heddle_node *const __z,
                                                   __heddle_node &__header) throw()
{
    if (__z->_M_left && __z->_M_right)
        __heddle_exchange(__z, __header);
    else
        __heddle_take_out(__z, __header);
    return __z;
}

_GLIBCXX_END_NAMESPACE_VERSION
}
#endif
