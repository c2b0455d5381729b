// A library with a lazily made object.
int *library_data();

struct Data {
    int value;
    Data() : value(5)
    {
    }
};

int *library_data()
{
    static Data *data = new Data;
    return &data->value;
}
