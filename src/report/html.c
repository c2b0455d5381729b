/* html.c - findings as one HTML page */
#include "report/html.h"
#include "report/json.h"

#include <stdlib.h>

extern const char embedded_page_html[], embedded_page_js[], embedded_style_css[];

/* JSON within a page: "<" is only in strings, and could end the element. */
static void put_data(const char *json, size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        if (json[i] == '<')
            fputs("\\u003c", out);
        else
            fputc(json[i], out);
    }
}

static void put_head(FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<title>heddle</title>\n",
          out);
}

/* The page's own text, and the findings for its script. */
static void put_body(const struct findings *f, FILE *out)
{
    char *json = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&json, &n);

    if (memory) {
        json_write_brief(f, memory);
        fclose(memory);
    }
    fputs("</head>\n<body>\n", out);
    fputs(embedded_page_html, out);
    fputs("<script type=\"application/json\" id=\"result\">", out);
    put_data(json, n, out);
    fputs("</script>\n", out);
    free(json);
}

void html_write(const struct findings *f, FILE *out)
{
    put_head(out);
    fputs("<style>\n", out);
    fputs(embedded_style_css, out);
    fputs("</style>\n", out);
    put_body(f, out);
    fputs("<script>\n", out);
    fputs(embedded_page_js, out);
    fputs("</script>\n</body>\n</html>\n", out);
}

void html_write_linked(const struct findings *f, FILE *out)
{
    put_head(out);
    fputs("<link rel=\"stylesheet\" href=\"" HTML_STYLE "\">\n", out);
    put_body(f, out);
    fputs("<script src=\"" HTML_SCRIPT "\"></script>\n</body>\n</html>\n", out);
}

const char *html_script(void)
{
    return embedded_page_js;
}

const char *html_style(void)
{
    return embedded_style_css;
}
