/* xml.h - text as XML and HTML take it */
#ifndef HEDDLE_REPORT_XML_H
#define HEDDLE_REPORT_XML_H

#include <stdio.h>

/* With entities for what markup is made of; also inside of double quotes. NULL: nothing. */
void xml_put(FILE *out, const char *s);

#endif
