void untraced(int *p);
void untraced(int *p)
{
    ++*p;
}
