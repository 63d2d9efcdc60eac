//! Dot products of a query's 8-bit code with many 8-bit codes, computed with the widest SIMD instructions of the processor.
//! All sums are exact integers, so every kernel returns the same numbers.

use std::thread;

/// Bytes of codes per thread, up to [`MAX_THREADS`] threads.
const BYTES_PER_THREAD: usize = 2 << 20;
const MAX_THREADS: usize = 8;

/// An implementation of the dot product, named after the instructions it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

/// A query's 8-bit code, widened to the 16-bit numbers that the SIMD instructions multiply.
pub struct QueryCode(Vec<i16>);

impl QueryCode {
    pub fn new(code: &[i8]) -> Self {
        Self(code.iter().copied().map(i16::from).collect())
    }
}

impl Kernel {
    /// Returns the kernels that this processor supports, fastest first.
    pub fn available() -> Vec<Self> {
        let mut kernels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected;
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
                kernels.push(Self::Avx512);
            }
            if is_x86_feature_detected!("avx2") {
                kernels.push(Self::Avx2);
            }
        }
        kernels.push(Self::Portable);
        kernels
    }

    /// Returns the fastest kernel that this processor supports.
    pub fn best() -> Self {
        Self::available()[0]
    }

    /// Returns the dot product of the query with each of `rows`. `codes` contains codes of the query's length, and row `r` is
    /// the code with the 0-based index `r`. Several threads share the work if there are many rows.
    ///
    /// # Panics
    /// Panics if a row lies outside `codes`.
    pub fn dot_products(self, query: &QueryCode, codes: &[i8], rows: &[u32]) -> Vec<i32> {
        let mut products = vec![0; rows.len()];
        let most = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let threads = (rows.len() * query.0.len() / BYTES_PER_THREAD).clamp(1, most);
        let share = rows.len().div_ceil(threads).max(1);
        thread::scope(|scope| {
            let mut shares = rows.chunks(share).zip(products.chunks_mut(share));
            let first = shares.next();
            for (rows, products) in shares {
                scope.spawn(move || self.fill(query, codes, (rows, products)));
            }
            if let Some(first) = first {
                self.fill(query, codes, first);
            }
        });
        products
    }

    fn fill(self, query: &QueryCode, codes: &[i8], (rows, products): (&[u32], &mut [i32])) {
        let length = query.0.len();
        let code = |row: u32| &codes[row as usize * length..][..length];
        let rows = rows.iter().map(|row| code(*row)).zip(products);
        match self {
            // SAFETY: only `available` constructs this variant, after it checked the processor.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => rows.for_each(|(code, product)| *product = unsafe { x86::avx512(&query.0, code) }),
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => rows.for_each(|(code, product)| *product = unsafe { x86::avx2(&query.0, code) }),
            Self::Portable => rows.for_each(|(code, product)| *product = portable(&query.0, code)),
        }
    }
}

fn portable(query: &[i16], code: &[i8]) -> i32 {
    query.iter().zip(code).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::portable;

    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn avx512(query: &[i16], code: &[i8]) -> i32 {
        let ((query_chunks, query), (codes, code)) = (query.as_chunks::<32>(), code.as_chunks::<32>());
        let mut sum = _mm512_setzero_si512();
        for (query, code) in query_chunks.iter().zip(codes) {
            // SAFETY: the chunks are 64 and 32 bytes long, and an unaligned load needs no alignment.
            let (a, b) =
                unsafe { (_mm512_loadu_si512(query.as_ptr().cast()), _mm256_loadu_si256(code.as_ptr().cast())) };
            sum = _mm512_add_epi32(sum, _mm512_madd_epi16(a, _mm512_cvtepi8_epi16(b)));
        }
        _mm512_reduce_add_epi32(sum) + portable(query, code)
    }

    #[target_feature(enable = "avx2")]
    pub fn avx2(query: &[i16], code: &[i8]) -> i32 {
        let ((query_chunks, query), (codes, code)) = (query.as_chunks::<16>(), code.as_chunks::<16>());
        let mut sum = _mm256_setzero_si256();
        for (query, code) in query_chunks.iter().zip(codes) {
            // SAFETY: the chunks are 32 and 16 bytes long, and an unaligned load needs no alignment.
            let (a, b) = unsafe { (_mm256_loadu_si256(query.as_ptr().cast()), _mm_loadu_si128(code.as_ptr().cast())) };
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(a, _mm256_cvtepi8_epi16(b)));
        }
        let mut lanes = [0i32; 8];
        // SAFETY: the array holds eight numbers, and an unaligned store needs no alignment.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sum) };
        lanes.iter().sum::<i32>() + portable(query, code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computes the dot products by definition, with 64-bit sums, which cannot overflow.
    fn expected(query: &[i8], codes: &[i8], rows: &[u32]) -> Vec<i32> {
        let product = |row: &u32| {
            let code = &codes[*row as usize * query.len()..][..query.len()];
            query.iter().zip(code).map(|(&a, &b)| i64::from(a) * i64::from(b)).sum::<i64>()
        };
        rows.iter().map(|row| product(row).try_into().unwrap()).collect()
    }

    #[test]
    fn portable_kernel_is_always_available_and_widest_comes_first() {
        let kernels = Kernel::available();
        assert_eq!(kernels.last(), Some(&Kernel::Portable));
        assert_eq!(Kernel::best(), kernels[0]);
        #[cfg(target_arch = "x86_64")]
        {
            assert_eq!(kernels.contains(&Kernel::Avx2), std::arch::is_x86_feature_detected!("avx2"));
            assert_eq!(kernels.contains(&Kernel::Avx512), std::arch::is_x86_feature_detected!("avx512bw"));
        }
    }

    #[test]
    fn largest_codes_do_not_overflow() {
        for length in [1, 15, 16, 17, 31, 32, 33, 63, 64, 512, 3_072] {
            for (a, b) in [(127, 127), (-128, -128), (127, -128), (-128, 127)] {
                let (query, code) = (vec![a; length], vec![b; length]);
                for kernel in Kernel::available() {
                    let found = kernel.dot_products(&QueryCode::new(&query), &code, &[0]);
                    assert_eq!(found, expected(&query, &code, &[0]), "{kernel:?}, {length} times {a} and {b}");
                }
            }
        }
    }

    #[test]
    fn threads_do_not_change_results() {
        let (length, count) = (512, 3 * BYTES_PER_THREAD / 512 + 77);
        let mut state = 7u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as i8
        };
        let query: Vec<i8> = (0..length).map(|_| next()).collect();
        let codes: Vec<i8> = (0..length * count).map(|_| next()).collect();
        let rows: Vec<u32> = (0..count as u32).rev().collect();
        let expected = expected(&query, &codes, &rows);
        for kernel in Kernel::available() {
            assert!(kernel.dot_products(&QueryCode::new(&query), &codes, &rows) == expected, "{kernel:?}");
        }
    }

    proptest! {
        #[test]
        fn all_kernels_agree(
            (query, codes) in (0usize..200).prop_flat_map(|length| {
                (prop::collection::vec(any::<i8>(), length), prop::collection::vec(any::<i8>(), length * 5))
            }),
            rows in prop::collection::vec(0u32..5, 0..9),
        ) {
            let expected = expected(&query, &codes, &rows);
            for kernel in Kernel::available() {
                prop_assert_eq!(&kernel.dot_products(&QueryCode::new(&query), &codes, &rows), &expected, "{:?}", kernel);
            }
        }
    }
}
