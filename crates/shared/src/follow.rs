//! A follower: what somebody knows of a shard whose owner is another node, row by row of its journal.

use std::sync::Arc;

use crate::{
    error::Result,
    image::{Catalogue, Image, restored},
    journal::{Entry, Row},
    keys::Shard,
    seam::Shared,
    settle,
};

/// A follower asks for so few rows at first, as there is seldom more than one; for twice as many each time that all of them are there.
const ROWS_AT_FIRST: usize = 2;
/// And for so many at most.
const ROWS_AT_MOST: usize = 256;

/// Follows the journal of a shard, and brings a catalogue up to date with it. It owns nothing and changes nothing that is shared.
#[derive(Debug)]
pub struct Follow {
    shared: Arc<dyn Shared>,
    shard: Shard,
    image: Option<Image>,
}

impl Follow {
    /// Of that shard, of which nothing is known yet.
    pub fn new(shared: Arc<dyn Shared>, shard: Shard) -> Follow {
        Follow { shared, shard, image: None }
    }

    /// What the journal amounts to, as far as it was read.
    pub fn image(&self) -> Option<&Image> {
        self.image.as_ref()
    }

    /// What was taken is of no use: the next call begins anew.
    pub fn forget(&mut self) {
        self.image = None;
    }

    /// Takes what the journal has by now; says whether the catalogue is another one. A row that cannot be read is told by the next call where
    /// rows before it were taken. After an error the catalogue is begun anew, as nobody knows how far it has come.
    pub fn catch_up(&mut self, catalogue: &mut dyn Catalogue) -> Result<bool> {
        let Some(image) = self.image.take() else {
            self.image = Some(Image::read(&*self.shared, &self.shard, catalogue)?);
            return Ok(true);
        };
        let mut image = image;
        let (mut max, mut changed) = (ROWS_AT_FIRST, false);
        loop {
            let rows = match settle::read(|| self.shared.rows(self.shard.journal(), image.next(), max)) {
                Ok(rows) => rows,
                Err(error) => {
                    // Between two rows it is known how far the catalogue has come.
                    self.image = Some(image);
                    return if changed { Ok(true) } else { Err(error) };
                }
            };
            let is_all = rows.len() < max;
            for bytes in rows {
                match self.read(&image, &bytes) {
                    Ok((row, entry)) => changed |= self.take(&mut image, &row, &entry, catalogue)?,
                    Err(_) if changed => return Ok(true),
                    Err(error) => return Err(error),
                }
            }
            if is_all {
                self.image = Some(image);
                return Ok(changed);
            }
            max = (max * 2).min(ROWS_AT_MOST);
        }
    }

    /// What the next row says.
    fn read(&self, image: &Image, bytes: &[u8]) -> Result<(Row, Entry)> {
        let row = Row::decode(&self.shard, image.next(), bytes)?;
        let entry = row.open(&*self.shared, &self.shard, image.next())?;
        Ok((row, entry))
    }

    /// Takes it; says whether it is a change of the catalogue.
    fn take(&self, image: &mut Image, row: &Row, entry: &Entry, catalogue: &mut dyn Catalogue) -> Result<bool> {
        if let Entry::Change(change) = entry {
            restored(&self.shard, catalogue.apply(image.next(), &change.catalogue))?;
        }
        image.apply(&self.shard, row, entry)?;
        Ok(matches!(entry, Entry::Change(_)))
    }
}
