// A thread calls a virtual function while the object's base class is being destroyed.
// issue: https://github.com/bitcoin/bitcoin/issues/25365
//   https://github.com/mCRL2org/mCRL2/issues/1721
// tool: ThreadSanitizer
// there: unusable report; a vptr race in a base class, whose cause took long to find
// verdict: race; the base class's destructor changes the virtual functions under the thread
// race: destroy call
#include "prog.h"
#include <thread>

int called;

struct Index {
    std::thread sync;
    virtual void append()
    {
    }
    virtual ~Index()
    { // [destroy]
        sync.join();
    }
};

struct CoinIndex : Index {
    void append() override
    {
    }
    void begin()
    {
        sync = std::thread([this] {
            append(); // [call]
            tell(&called);
        });
    }
};

int main()
{
    CoinIndex *index = new CoinIndex;
    index->begin();
    await(&called);
    delete index;
}
