/* stl_list.h - what std::list does to its nodes, compiled into the program
 *
 * libstdc++.so has these functions, where nothing is traced.
 */
#ifndef HEDDLE_STL_LIST_H
#define HEDDLE_STL_LIST_H
#pragma GCC system_header
#include_next <bits/stl_list.h>

namespace std _GLIBCXX_VISIBILITY(default)
{
_GLIBCXX_BEGIN_NAMESPACE_VERSION
namespace __detail
{

inline void _List_node_base::_M_hook(_List_node_base *const __at) _GLIBCXX_USE_NOEXCEPT
{
    _M_next = __at;
    _M_prev = __at->_M_prev;
    __at->_M_prev->_M_next = this;
    __at->_M_prev = this;
}

inline void _List_node_base::_M_unhook() _GLIBCXX_USE_NOEXCEPT
{
    _List_node_base *const __next = _M_next, *const __prev = _M_prev;

    __prev->_M_next = __next;
    __next->_M_prev = __prev;
}

/* Those from __first on, up to __end, go before this one. */
inline void _List_node_base::_M_transfer(_List_node_base *const __first,
                                         _List_node_base *const __end) _GLIBCXX_USE_NOEXCEPT
{
    _List_node_base *__last, *__before;

    if (this == __end)
        return;
    __last = __end->_M_prev;
    __before = _M_prev;
    __first->_M_prev->_M_next = __end;
    __end->_M_prev = __first->_M_prev;
    __before->_M_next = __first;
    __first->_M_prev = __before;
    __last->_M_next = this;
    _M_prev = __last;
}

inline void _List_node_base::_M_reverse() _GLIBCXX_USE_NOEXCEPT
{
    _List_node_base *__x = this;

    do {
        _List_node_base *const __next = __x->_M_next;

        __x->_M_next = __x->_M_prev;
        __x->_M_prev = __next;
        __x = __next;
    } while (__x != this);
}

/* The neighbours of a list's head, where it has moved to __to from __from. */
inline void __heddle_adopt(_List_node_base &__to, const _List_node_base *__from)
{
    if (__to._M_next == __from) {
        __to._M_next = __to._M_prev = &__to;
    } else {
        __to._M_next->_M_prev = &__to;
        __to._M_prev->_M_next = &__to;
    }
}

inline void _List_node_base::swap(_List_node_base &__x,
                                  _List_node_base &__y) _GLIBCXX_USE_NOEXCEPT
{
    _List_node_base *const __next = __x._M_next, *const __prev = __x._M_prev;

    __x._M_next = __y._M_next;
    __x._M_prev = __y._M_prev;
    __y._M_next = __next;
    __y._M_prev = __prev;
    __heddle_adopt(__x, &__y);
    __heddle_adopt(__y, &__x);
}

}
_GLIBCXX_END_NAMESPACE_VERSION
}
#endif
