//! Frames: arrays that are sent at a steady rate.

use sample::{Alarm, Arrays, Batch, Column, Runs, Timestamp};

use super::{Noise, START};

/// What the frames of a PV are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A ramp of 64-bit floats of which only the first changes from frame to frame: the ESS test.
    FirstOfF64,
    /// A ramp of 32-bit integers of which only the first changes: the same test.
    FirstOfI32,
    /// The same with noise in every bit of the others, so that no first frame of a block gets smaller.
    FirstOfNoise,
    /// A digitiser of 14 bits that sees a pulse in noise.
    Digitiser,
}

/// A PV that sends frames of `len` elements at 14 Hz.
pub(crate) struct Frames {
    frame: Frame,
    noise: Noise,
    row: i64,
    floats: Vec<f64>,
    integers: Vec<i32>,
}

impl Frames {
    pub(crate) fn new(frame: Frame, len: usize, seed: u64) -> Frames {
        let mut noise = Noise::new(seed);
        let floats = (0..len).map(|place| 0.1 * place as f64).collect();
        let integers = match frame {
            Frame::FirstOfNoise => (0..len).map(|_| noise.bits() as i32).collect(),
            _ => (0..len as i32).collect(),
        };
        Frames { frame, noise, row: 0, floats, integers }
    }

    /// The bytes of a frame's elements.
    pub(crate) fn bytes(&self) -> usize {
        match self.frame {
            Frame::FirstOfF64 => self.floats.len() * 8,
            Frame::FirstOfI32 | Frame::FirstOfNoise => self.integers.len() * 4,
            Frame::Digitiser => self.floats.len() * 2,
        }
    }

    /// The next `count` frames.
    pub(crate) fn batch(&mut self, count: usize) -> Batch {
        let times = (self.row..self.row + count as i64).map(|row| START + row * 71_428_571);
        let times = times.map(Timestamp::from_nanos).collect();
        let len = self.floats.len();
        let mut elements = match self.frame {
            Frame::FirstOfF64 => Column::F64(Vec::with_capacity(count * len)),
            Frame::FirstOfI32 | Frame::FirstOfNoise => Column::I32(Vec::with_capacity(count * len)),
            Frame::Digitiser => Column::I16(Vec::with_capacity(count * len)),
        };
        (0..count as i64).for_each(|row| self.put(&mut elements, self.row + row));
        self.row += count as i64;
        let ends = (1..=count).map(|frame| frame * len).collect();
        let arrays = Arrays::from_ends(ends, elements).expect("each frame has that length");
        let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
        alarms.push(&Alarm::default(), count);
        pulses.push(&0, count);
        Batch::from_columns(times, Column::Array(arrays), alarms, pulses).expect("all columns have that many rows")
    }

    fn put(&mut self, elements: &mut Column, row: i64) {
        let len = self.floats.len();
        match elements {
            Column::F64(all) => {
                self.floats[0] = row as f64;
                all.extend_from_slice(&self.floats);
            }
            Column::I32(all) => {
                self.integers[0] = row as i32;
                all.extend_from_slice(&self.integers);
            }
            Column::I16(all) => all.extend((0..len).map(|place| {
                let pulse = if (len / 4..len / 2).contains(&place) { 6000.0 } else { 200.0 };
                (pulse + 4.0 * self.noise.gauss()).round().clamp(0.0, 16_383.0) as i16
            })),
            _ => {}
        }
    }
}
