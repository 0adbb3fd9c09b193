//! The contract of a tracepoint folder, and the macro that writes the repetitive part of it (docs/decisions.md).

use crate::endian::Endian;
use crate::event_format::{BytesAccess, EventFormat, IntAccess, StrAccess};

/// A required field that this recording's format lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingField(pub &'static str);

/// A tracepoint's typed struct.
pub trait Tracepoint: 'static {
    /// Tracing system.
    const SYSTEM: &'static str;
    /// Event name.
    const NAME: &'static str;
    /// Resolved field accessors.
    type Bound: Clone + Send + Sync + 'static;
    /// The struct read from a payload; `'a` is the payload's lifetime.
    type Event<'a>;
    /// Resolves the fields by name.
    fn bind(format: &EventFormat, endian: Endian) -> Result<Self::Bound, MissingField>;
    /// Reads one payload; `None` when it is too short for a required field.
    fn read<'a>(bound: &Self::Bound, payload: &'a [u8]) -> Option<Self::Event<'a>>;
}

/// How a field type binds and reads. `Option<T>` is a field that some kernels lack; a bare `T` is required.
pub trait FieldType {
    /// The accessor.
    type Access: Clone + Send + Sync + 'static;
    /// What the struct's field holds.
    type Value<'a>;
    /// Binds the first of `names` that the format has.
    fn bind(format: &EventFormat, names: &[&str], endian: Endian) -> Option<Self::Access>;
    /// Reads.
    fn get<'a>(access: &Self::Access, payload: &'a [u8]) -> Option<Self::Value<'a>>;
    /// Bytes that a payload must have for [`FieldType::get`] to find it, where that is the same for all payloads.
    fn least(access: &Self::Access) -> usize {
        let _ = access;
        0
    }
    /// [`FieldType::get`] of a payload that has so many: an integer is there, so reading one that nobody looks at costs nothing.
    #[inline]
    fn get_there<'a>(access: &Self::Access, payload: &'a [u8]) -> Option<Self::Value<'a>> {
        Self::get(access, payload)
    }
}

impl<T: FieldType> FieldType for Option<T> {
    type Access = Option<T::Access>;
    type Value<'a> = Option<T::Value<'a>>;
    fn bind(format: &EventFormat, names: &[&str], endian: Endian) -> Option<Self::Access> {
        Some(T::bind(format, names, endian))
    }
    #[inline]
    fn get<'a>(access: &Self::Access, payload: &'a [u8]) -> Option<Self::Value<'a>> {
        Some(access.as_ref().and_then(|a| T::get(a, payload)))
    }
}

macro_rules! int_field {
    ($($t:ty),*) => {$(
        impl FieldType for $t {
            type Access = IntAccess;
            type Value<'a> = $t;
            fn bind(format: &EventFormat, names: &[&str], endian: Endian) -> Option<IntAccess> {
                names.iter().find_map(|n| IntAccess::bind(format, n, endian))
            }
            #[inline]
            fn get(access: &IntAccess, payload: &[u8]) -> Option<$t> {
                access.u64(payload).map(|v| v as $t)
            }
            fn least(access: &IntAccess) -> usize {
                access.end()
            }
            #[inline(always)]
            fn get_there(access: &IntAccess, payload: &[u8]) -> Option<$t> {
                Some(Self::get(access, payload).unwrap_or_default())
            }
        }
    )*};
}
int_field!(u8, u16, u32, u64, i32, i64);

impl FieldType for bool {
    type Access = IntAccess;
    type Value<'a> = bool;
    fn bind(format: &EventFormat, names: &[&str], endian: Endian) -> Option<IntAccess> {
        <u8 as FieldType>::bind(format, names, endian)
    }
    #[inline]
    fn get(access: &IntAccess, payload: &[u8]) -> Option<bool> {
        access.u64(payload).map(|v| v != 0)
    }
    fn least(access: &IntAccess) -> usize {
        access.end()
    }
    #[inline(always)]
    fn get_there(access: &IntAccess, payload: &[u8]) -> Option<bool> {
        Some(Self::get(access, payload).unwrap_or_default())
    }
}

/// Marker of a text field: the bytes before the NUL. May be anything, it is the host's (or an attacker's) choice.
pub struct Text;
impl FieldType for Text {
    type Access = StrAccess;
    type Value<'a> = &'a [u8];
    fn bind(format: &EventFormat, names: &[&str], endian: Endian) -> Option<StrAccess> {
        names.iter().find_map(|n| StrAccess::bind(format, n, endian))
    }
    #[inline]
    fn get<'a>(access: &StrAccess, payload: &'a [u8]) -> Option<&'a [u8]> {
        access.bytes(payload)
    }
}

/// Marker of a byte-array field (`saddr[4]`, `saddr_v6[16]`, a sockaddr's 28 bytes).
pub struct Raw;
impl FieldType for Raw {
    type Access = BytesAccess;
    type Value<'a> = &'a [u8];
    fn bind(format: &EventFormat, names: &[&str], endian: Endian) -> Option<BytesAccess> {
        names.iter().find_map(|n| BytesAccess::bind(format, n, endian))
    }
    #[inline]
    fn get<'a>(access: &BytesAccess, payload: &'a [u8]) -> Option<&'a [u8]> {
        access.bytes(payload)
    }
}

/// Declares a tracepoint: `pub struct Name: "system" "event" { field: Type, other: Option<Type> | "older_name", }`.
/// The field's Rust name is its kernel name; names after `|` are what other kernels call it. A module that holds one
/// also gets `Bound`, the resolved accessors.
macro_rules! tracepoint {
    (
        $(#[$doc:meta])*
        pub struct $name:ident : $system:literal $event:literal {
            $( $(#[$fdoc:meta])* $field:ident : $ty:ty $(| $alt:literal)* ),* $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct $name<'a> {
            $( $(#[$fdoc])* pub $field: <$ty as $crate::tracepoints::FieldType>::Value<'a>, )*
            #[doc(hidden)]
            pub payload: ::core::marker::PhantomData<&'a ()>,
        }
        /// Accessors resolved from a recording's format text.
        #[derive(Debug, Clone)]
        pub struct Bound {
            $( $field: <$ty as $crate::tracepoints::FieldType>::Access, )*
            /// Bytes that every payload has.
            least_len: usize,
        }
        impl $crate::tracepoints::Tracepoint for $name<'static> {
            const SYSTEM: &'static str = $system;
            const NAME: &'static str = $event;
            type Bound = Bound;
            type Event<'a> = $name<'a>;
            fn bind(
                format: &$crate::event_format::EventFormat,
                endian: $crate::endian::Endian,
            ) -> Result<Bound, $crate::tracepoints::MissingField> {
                let mut bound = Bound {
                    $( $field: <$ty as $crate::tracepoints::FieldType>::bind(format, &[stringify!($field) $(, $alt)*], endian)
                        .ok_or($crate::tracepoints::MissingField(stringify!($field)))?, )*
                    least_len: 0,
                };
                $( bound.least_len = bound.least_len.max(<$ty as $crate::tracepoints::FieldType>::least(&bound.$field)); )*
                Ok(bound)
            }
            // Into each handler: a field that it does not look at is not read there.
            #[inline(always)]
            fn read<'a>(bound: &Bound, payload: &'a [u8]) -> Option<$name<'a>> {
                if payload.len() < bound.least_len {
                    return None;
                }
                Some($name {
                    $( $field: <$ty as $crate::tracepoints::FieldType>::get_there(&bound.$field, payload)?, )*
                    payload: ::core::marker::PhantomData,
                })
            }
        }
    };
}
pub(crate) use tracepoint;
