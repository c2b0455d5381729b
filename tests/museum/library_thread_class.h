// A thread whose body is a virtual function.
class LibraryThread
{
    unsigned long handle = 0;

  public:
    virtual ~LibraryThread();
    virtual void run() = 0;
    void start();
    void wait();
};
