/* c++config.h - std::string compiled into the program
 *
 * Before C++20 the members of std::string are compiled into libstdc++.so, where nothing is traced:
 * races on strings would be missed, and a full recording would have values that nobody wrote. As in
 * C++20, and as with _GLIBCXX_ASSERTIONS, each program gets its own (-1: of strings only).
 */
#pragma GCC system_header
#include_next <bits/c++config.h>
#if defined(_GLIBCXX_EXTERN_TEMPLATE) && _GLIBCXX_EXTERN_TEMPLATE > 0
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#endif
