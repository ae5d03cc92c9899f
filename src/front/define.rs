//! The macro that makes a front end out of words: a type with statics and a thread slot of its own.

/// Defines a front end: a type with statics of its own, from the words of a preset.
///
/// One line names a preset with a knob more or less, beside the preset itself and with a heap of its own:
///
/// ```
/// use hakmem::config::Knob;
/// hakmem::define_front!(pub Kept in kept = hakmem::Mixed::WORDS.with(Knob::FreeKeep));
///
/// fn main() {
///     let block = Kept::allocate(100);
///     assert_eq!(block.addr() % 16, 0);
///     // SAFETY: the block is live.
///     unsafe { Kept::deallocate(block) };
/// }
/// ```
///
/// The module name (`kept`) also names symbols, so it must be unique within the process image.
///
/// Words that contradict themselves, or ask for what is not built, do not compile:
///
/// ```compile_fail
/// use hakmem::config::Knob;
/// // error: free-keep gives nothing back, disable-batch all at once: take one of the two away
/// hakmem::define_front!(pub Odd in odd = hakmem::Mixed::WORDS.with(Knob::FreeKeep).with(Knob::DisableBatch));
/// static ODD: Odd = Odd::new();
/// ```
#[macro_export]
macro_rules! define_front {
    ($(#[$doc:meta])* $visible:vis $name:ident in $module:ident = $words:expr) => {
        #[doc(hidden)]
        #[allow(missing_docs)]
        $visible mod $module {
            pub struct Statics;

            $crate::__thread_slot!($module, $crate::__private::EMPTY);
        }

        $(#[$doc])*
        $visible type $name = $crate::Front<
            $module::Statics,
            $crate::config::Baked<
                { let words: $crate::config::Words = $words; words.routes },
                { let words: $crate::config::Words = $words; words.knobs },
                { let words: $crate::config::Words = $words; words.bins },
                { let words: $crate::config::Words = $words; words.numbers },
            >,
        >;

        const _: () = {
            use $crate::__private::{Configured, Shared, State, ThreadHeap, Watched};

            type Config = <$name as Configured>::Config;

            // Impossible words are refused here, whether the front end is used or not.
            const _: $crate::config::Words = <Config as $crate::config::Config>::WORDS;

            static SHARED: Shared<Config> = Shared::new();
            static WATCHED: Watched = Watched::new(&STATE);
            static STATE: State<Config> = State {
                slot: <$module::Statics as $crate::Instance<Config>>::slot,
                set_slot: <$module::Statics as $crate::Instance<Config>>::set_slot,
                busy: $module::busy,
                set_busy: $module::set_busy,
                watched: &WATCHED,
                shared: &SHARED,
            };

            // SAFETY: the slot is a thread-local word of its own that starts as EMPTY; the state is one static.
            unsafe impl $crate::Instance<Config> for $module::Statics {
                #[inline(always)]
                fn slot() -> *mut ThreadHeap<Config> {
                    $module::slot().cast()
                }

                unsafe fn set_slot(heap: *mut ThreadHeap<Config>) {
                    $module::set_slot(heap.cast());
                }

                #[inline(always)]
                fn state() -> &'static State<Config> {
                    &STATE
                }
            }
        };
    };
}
