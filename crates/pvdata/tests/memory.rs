//! What is made of hostile bytes takes no more memory than one message may: counted by the allocator of this test.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use pvdata::{
    Error, Type, TypeRegistry,
    value::{self, Decoder},
    wire::{Order, Reader, Writer},
};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it came; beside it there is only counting.
#[expect(unsafe_code, reason = "an allocator cannot be counted otherwise")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// How large the hostile messages are, and what may be made of them: a sixteenth of the real bounds.
const MESSAGE_BYTES: usize = 8 << 20;
const ROOM_BYTES: usize = 16 << 20;

/// What decoding takes at its peak, and how it ends.
fn decoded(described: &[u8], element: &[u8]) -> (usize, Result<(), Error>) {
    let mut message = described.to_vec();
    let mut size = Writer::new(Order::Little);
    let elements = (MESSAGE_BYTES - described.len()) / element.len();
    size.size(Some(elements));
    message.extend(size.into_bytes());
    message.reserve_exact(elements * element.len());
    (0..elements).for_each(|_| message.extend_from_slice(element));
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let mut reader = Reader::new(&message, Order::Little).with_room(ROOM_BYTES);
    let result = value::read(&mut reader, &mut TypeRegistry::default());
    (PEAK.load(Relaxed) - before, result.map(|_| ()))
}

/// One test: its neighbours would be counted with it.
#[test]
fn a_message_of_the_smallest_elements_takes_no_more_memory_than_it_may() {
    let cases: [(&str, &[u8], &[u8]); 8] = [
        ("texts without letters", &[0x68], &[0]),
        ("texts of one letter", &[0x68], &[1, b'x']),
        ("anys of bytes", &[0x8a], &[1, 0x24, 7]),
        ("anys that are missing", &[0x8a], &[0]),
        ("anys of structures of their own", &[0x8a], &[1, 0x80, 0, 1, 1, b'a', 0x24, 7]),
        ("anys of types to be remembered", &[0x8a], &[1, 0xfd, 7, 0, 0x80, 0, 1, 1, b'a', 0x24, 7]),
        ("structures of one byte", &[0x88, 0x80, 0, 1, 1, b'a', 0x24], &[1, 7]),
        ("unions of one byte", &[0x89, 0x81, 0, 1, 1, b'a', 0x24], &[1, 0, 7]),
    ];
    for (name, described, element) in cases {
        let (peak, result) = decoded(described, element);
        // What the allocator keeps for itself is not seen here, and charged all the same.
        assert!(peak <= ROOM_BYTES, "{name}: {} KiB", peak >> 10);
        assert!(matches!(result, Err(Error::NoRoom { .. })), "{name}: {result:?}");
    }
    let (peak, result) = decoded(&[0x2c], &[7]);
    assert_eq!(result, Ok(()), "an image of bytes");
    assert!(peak <= MESSAGE_BYTES + 1024, "{} MiB", peak >> 20);
}

/// Types that a server numbers stay for as long as its circuit, so that they have a bound of their own.
#[test]
fn a_circuit_remembers_no_more_of_types_than_it_may() {
    let mut registry = TypeRegistry::default();
    let mut ended = None;
    for id in 0..=u16::MAX {
        let mut writer = Writer::new(Order::Little);
        writer.u8(0xfd);
        writer.u16(id);
        let fields = (0..100).map(|n| (["a", "b"][n % 2], Type::Any));
        Type::structure("x", fields).unwrap().encode(&mut writer);
        let bytes = writer.into_bytes();
        if let Err(error) = registry.decode(&mut Reader::new(&bytes, Order::Little)) {
            ended = Some((id, error));
            break;
        }
    }
    let (id, error) = ended.expect("there is an end");
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    assert!(id > 500, "a thousand types of a hundred fields have room, it ended at {id}");
    // A number that is given anew takes the place of the old one.
    let again = [0xfd, 0, 0, 0x24];
    for _ in 0..100_000 {
        assert_eq!(
            registry.decode(&mut Reader::new(&again, Order::Little)),
            Ok(Some(Type::Scalar(pvdata::Scalar::U8)))
        );
    }
    let mut reader = Reader::new(&[0xfe, 0, 0, 9], Order::Little);
    let ty = registry.decode(&mut reader).unwrap().unwrap();
    assert!(Decoder::new(&mut reader, &mut registry).tree(&ty).is_ok());
}
