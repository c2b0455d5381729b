/* production_mark.h - what production_mark.c and production_code.cpp agree on, besides abi.h */
#ifndef HEDDLE_PASS_PRODUCTION_PRODUCTION_MARK_H
#define HEDDLE_PASS_PRODUCTION_PRODUCTION_MARK_H

/* A marked store that is no site has a number from here on. */
#define MARK_NO_SITE 0x80000000u

#endif
