//! Reads type descriptions, and remembers those that the other side numbers.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{collections::HashMap, sync::Arc};

use crate::{
    Error,
    types::{
        ANY, BOUNDED_STRING, DEPTH_MAX, Extent, FIELDS_MAX, Field, NOTHING, STRUCTURE, Scalar, Structure, Type, UNION,
        check,
    },
    wire::Reader,
};

/// What the types may take that one circuit remembers, in bytes of memory. A hundred thousand fields have room.
const REMEMBERED_BYTES_MAX: usize = 16 << 20;

/// The largest fixed array that is accepted; nobody has been seen to use any.
const FIXED_MAX: usize = 65_536;

const ARRAY_BITS: u8 = 0x18;
const REMEMBER: u8 = 0xfd;
const REMEMBERED: u8 = 0xfe;

/// The types that the other side has described on one circuit, by its numbers.
#[derive(Clone, Debug, Default)]
pub struct TypeRegistry {
    /// With the memory that each takes.
    types: HashMap<u16, (Type, usize)>,
    bytes: usize,
}

impl TypeRegistry {
    /// Reads a type description; none where the other side says that there is nothing.
    pub fn decode(&mut self, r: &mut Reader) -> Result<Option<Type>, Error> {
        self.decode_at(r, 0)
    }

    fn decode_at(&mut self, r: &mut Reader, depth: usize) -> Result<Option<Type>, Error> {
        check("the nesting of a type description", depth, 2 * DEPTH_MAX)?;
        let code = r.u8("a type description")?;
        match code {
            NOTHING => Ok(None),
            REMEMBERED => {
                let id = r.u16("a type number")?;
                self.types.get(&id).map(|(ty, _)| Some(ty.clone())).ok_or(Error::UnknownType { id })
            }
            REMEMBER => {
                let id = r.u16("a type number")?;
                let room = r.room();
                let ty = self.must(r, depth + 1)?;
                self.remember(id, ty.clone(), room - r.room())?;
                Ok(Some(ty))
            }
            code => self.decode_code(code, r, depth).map(Some),
        }
    }

    fn remember(&mut self, id: u16, ty: Type, bytes: usize) -> Result<(), Error> {
        let before = self.types.get(&id).map_or(0, |(_, bytes)| *bytes);
        let size = self.bytes - before + bytes;
        check("what a circuit remembers of types", size, REMEMBERED_BYTES_MAX)?;
        self.bytes = size;
        self.types.insert(id, (ty, bytes));
        Ok(())
    }

    fn must(&mut self, r: &mut Reader, depth: usize) -> Result<Type, Error> {
        self.decode_at(r, depth)?.ok_or(Error::BadTypeCode { code: NOTHING })
    }

    fn decode_code(&mut self, code: u8, r: &mut Reader, depth: usize) -> Result<Type, Error> {
        match code {
            STRUCTURE => return Ok(Type::Structure(self.fields(r, depth)?)),
            UNION => return Ok(Type::Union(self.fields(r, depth)?)),
            ANY => return Ok(Type::Any),
            BOUNDED_STRING => return Ok(Type::BoundedString(extent_size(r)?)),
            _ => {}
        }
        let one = code & !ARRAY_BITS;
        if let Some(scalar) = Scalar::from_code(code) {
            return Ok(Type::Scalar(scalar));
        }
        let extent = match code & ARRAY_BITS {
            0x08 => Extent::Variable,
            0x10 => Extent::Bounded(extent_size(r)?),
            0x18 => {
                let size = extent_size(r)?;
                check("a fixed array", size as usize, FIXED_MAX)?;
                Extent::Fixed(size)
            }
            _ => return Err(Error::BadTypeCode { code }),
        };
        match (one, Scalar::from_code(one)) {
            (_, Some(scalar)) => Ok(Type::Array(scalar, extent)),
            (ANY, _) => Ok(Type::AnyArray(extent)),
            (STRUCTURE, _) => match self.must(r, depth + 1)? {
                Type::Structure(s) => Ok(Type::StructureArray(s, extent)),
                _ => Err(Error::BadTypeCode { code }),
            },
            (UNION, _) => match self.must(r, depth + 1)? {
                Type::Union(s) => Ok(Type::UnionArray(s, extent)),
                _ => Err(Error::BadTypeCode { code }),
            },
            _ => Err(Error::BadTypeCode { code }),
        }
    }

    fn fields(&mut self, r: &mut Reader, depth: usize) -> Result<Arc<Structure>, Error> {
        let id = r.string("the id of a structure")?;
        let count = r.count("the fields of a structure")?;
        check("a structure", count, FIELDS_MAX)?;
        r.charge(size_of::<Structure>() + count * size_of::<Field>(), "the fields of a structure")?;
        let mut fields = Vec::with_capacity(count.min(64));
        for _ in 0..count {
            let name = r.string("a field name")?.into_boxed_str();
            fields.push(Field { name, ty: self.must(r, depth + 1)? });
        }
        Structure::new(&id, fields).map(Arc::new)
    }
}

fn extent_size(r: &mut Reader) -> Result<u32, Error> {
    let what = "the extent of an array";
    let size = r.size(what)?.ok_or(Error::BadSize { what })?;
    u32::try_from(size).map_err(|_| Error::TooLarge { what, size: size as u64, limit: u64::from(u32::MAX) })
}
