//! Linear layers with 4-bit weights and inputs quantised to 8 bits. They take a quarter of the time of 32-bit floats.
//!
//! Weights and inputs are divided into **blocks** of [`BLOCK`] that share a scale. A weight is `scale * (step - 8)` with a
//! step of 0 to 15, and an input is `scale * step` with a step of -127 to 127. A block therefore contributes
//! `weight scale * input scale * (sum of weight step * input step - 8 * sum of input steps)` to a product, and its sums are
//! small integers.

use super::file::WeightsFile;
use super::vectorised;
use crate::InvalidModel;

/// Number of inputs or weights that share a scale.
pub(super) const BLOCK: usize = 32;
/// Size of a block of weights in the file, in bytes: a 16-bit float, and 32 steps, two per byte.
pub(super) const PACKED: usize = 18;
/// Number of outputs computed together.
const OUTPUTS: usize = 16;
/// Number of rows computed together.
const ROWS: usize = 4;
/// Number of inputs that one instruction multiplies for each output.
const FOUR: usize = 4;

pub(super) struct Linear {
    /// For each group of [`OUTPUTS`] outputs and each block of inputs: the weight steps of the first four inputs for all
    /// outputs of the group, then of the next four inputs, and so on.
    steps: Vec<[[u8; OUTPUTS * FOUR]; BLOCK / FOUR]>,
    scales: Vec<[f32; OUTPUTS]>,
    bias: Vec<f32>,
    /// Number of blocks in a row of inputs.
    blocks: usize,
}

/// Rows of inputs, quantised to 8 bits.
pub(super) struct QuantisedRows {
    /// For each group of [`ROWS`] rows: the first block of each row, then the second block of each row, and so on.
    blocks: Vec<[Block; ROWS]>,
    rows: usize,
}

#[derive(Clone, Copy, Default)]
struct Block {
    /// Four steps per number, with the first in the lowest byte.
    steps: [i32; BLOCK / FOUR],
    scale: f32,
    /// `-8 * (sum of steps)`, the correction for the offset of the weight steps. The lower 16 bits contain it for the first
    /// two of every four steps, the upper 16 bits for the other two.
    excess: i32,
}

impl Linear {
    /// Reads the layer `name`: a row of weights and a bias for each output.
    pub fn read(file: &WeightsFile<'_>, name: &str, inputs: usize, outputs: usize) -> Result<Self, InvalidModel> {
        let weights = file.blocks(&format!("{name}.w"), inputs * outputs)?;
        Ok(Self::new(weights, file.floats(&format!("{name}.b"), outputs)?))
    }

    /// Builds a layer. `weights` contains one complete row for each float of `bias`, and their number is a multiple of
    /// [`OUTPUTS`].
    fn new(weights: &[[u8; PACKED]], bias: Vec<f32>) -> Self {
        assert!(bias.len().is_multiple_of(OUTPUTS) && weights.len().is_multiple_of(bias.len()), "whole rows");
        let (outputs, blocks) = (bias.len(), weights.len() / bias.len());
        let mut steps = vec![[[0; OUTPUTS * FOUR]; BLOCK / FOUR]; blocks * outputs / OUTPUTS];
        let mut scales = vec![[0.0; OUTPUTS]; blocks * outputs / OUTPUTS];
        for (at, block) in weights.iter().enumerate() {
            let (output, place) = (at / blocks, at % blocks);
            let group = output / OUTPUTS * blocks + place;
            let (scale, halves) = unpack(block);
            scales[group][output % OUTPUTS] = scale;
            for (input, step) in halves.into_iter().enumerate() {
                steps[group][input / FOUR][output % OUTPUTS * FOUR + input % FOUR] = step;
            }
        }
        Self { steps, scales, bias, blocks }
    }

    pub fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// Returns the product of each row and the weights, plus the bias.
    pub fn apply(&self, inputs: &QuantisedRows) -> Vec<f32> {
        assert_eq!(inputs.blocks.len(), inputs.rows.div_ceil(ROWS) * self.blocks, "inputs of this layer");
        let width = self.outputs();
        let mut out = vec![0.0; inputs.rows * width];
        let groups = self.steps.chunks_exact(self.blocks).zip(self.scales.chunks_exact(self.blocks));
        for (group, (steps, scales)) in groups.enumerate() {
            let bias = &self.bias[group * OUTPUTS..][..OUTPUTS];
            for (rows, out) in inputs.blocks.chunks_exact(self.blocks).zip(out.chunks_mut(ROWS * width)) {
                let tile = tile(steps, scales, rows);
                for (tile, row) in tile.iter().zip(out.chunks_exact_mut(width)) {
                    let places = &mut row[group * OUTPUTS..][..OUTPUTS];
                    for ((place, value), bias) in places.iter_mut().zip(tile).zip(bias) {
                        *place = value + bias;
                    }
                }
            }
        }
        out
    }
}

/// Returns the scale and the steps of a block from the file. The lower halves of its bytes are the first 16 steps, the upper
/// halves the other 16.
fn unpack(block: &[u8; PACKED]) -> (f32, [u8; BLOCK]) {
    let [low, high, halves @ ..] = block;
    let mut steps = [0; BLOCK];
    for (at, byte) in halves.iter().enumerate() {
        (steps[at], steps[at + BLOCK / 2]) = (byte & 15, byte >> 4);
    }
    (half(u16::from_le_bytes([*low, *high])), steps)
}

/// Returns the dequantised weights of a block.
pub(super) fn weights(block: &[u8; PACKED]) -> [f32; BLOCK] {
    let (scale, steps) = unpack(block);
    steps.map(|step| (f32::from(step) - 8.0) * scale)
}

/// Converts a 16-bit float to 32 bits. The file contains no infinities or NaN; they would become large numbers.
fn half(bits: u16) -> f32 {
    // The shift moves exponent and fraction to their positions in a 32-bit float; the exponent is then 112 too low.
    let size = f32::from_bits(u32::from(bits & 0x7fff) << 13) * 2_f32.powi(112);
    if bits & 0x8000 == 0 { size } else { -size }
}

impl QuantisedRows {
    /// Quantises rows of `width` floats.
    pub fn new(floats: &[f32], width: usize) -> Self {
        let rows = floats.len() / width;
        let mut blocks = vec![[Block::default(); ROWS]; rows.div_ceil(ROWS) * (width / BLOCK)];
        for (floats, blocks) in floats.chunks(width * ROWS).zip(blocks.chunks_exact_mut(width / BLOCK)) {
            for (row, floats) in floats.chunks_exact(width).enumerate() {
                quantise(floats, blocks, row);
            }
        }
        Self { blocks, rows }
    }
}

vectorised! {
    fn quantise(floats: &[f32], blocks: &mut [[Block; ROWS]], row: usize) {
        let (floats, _) = floats.as_chunks::<BLOCK>();
        for (floats, block) in floats.iter().zip(blocks) {
            // The bits of non-negative floats, compared as integers, have the same order as their values.
            let most = f32::from_bits(floats.iter().fold(0, |most, value| most.max(value.to_bits() & i32::MAX as u32)));
            let inverse = if most > 0.0 { 127.0 / most } else { 0.0 };
            let mut steps = [0; BLOCK];
            for (step, value) in steps.iter_mut().zip(floats) {
                // Adding this constant rounds a small number to an integer in the lowest bits.
                *step = (value * inverse + 12_582_912.0).to_bits() as u8;
            }
            let (fours, _) = steps.as_chunks();
            let mut pairs = [0_i16; 2];
            for (word, four) in block[row].steps.iter_mut().zip(fours) {
                *word = i32::from_le_bytes(*four);
                let [a, b, c, d] = four.map(|step| i16::from(step as i8));
                pairs = [pairs[0] - 8 * (a + b), pairs[1] - 8 * (c + d)];
            }
            block[row].scale = most / 127.0;
            block[row].excess = i32::from(pairs[0] as u16) | i32::from(pairs[1]) << 16;
        }
    }
}

type Tile = [[f32; OUTPUTS]; ROWS];

/// Computes the products of `ROWS` rows for `OUTPUTS` outputs.
fn tile(steps: &[[[u8; OUTPUTS * FOUR]; BLOCK / FOUR]], scales: &[[f32; OUTPUTS]], rows: &[[Block; ROWS]]) -> Tile {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected;
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni") {
            // SAFETY: the condition checks that the processor supports AVX-512 F and VNNI.
            return unsafe { x86::tile_vnni(steps, scales, rows) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the condition checks that the processor supports AVX2 and FMA.
            return unsafe { x86::tile(steps, scales, rows) };
        }
    }
    tile_portable(steps, scales, rows)
}

fn tile_portable(
    steps: &[[[u8; OUTPUTS * FOUR]; BLOCK / FOUR]],
    scales: &[[f32; OUTPUTS]],
    rows: &[[Block; ROWS]],
) -> Tile {
    let mut sums = Tile::default();
    for ((steps, scales), blocks) in steps.iter().zip(scales).zip(rows) {
        for (block, sums) in blocks.iter().zip(&mut sums) {
            let mut products = [i32::from(block.excess as i16) + (block.excess >> 16); OUTPUTS];
            for (weights, inputs) in steps.iter().zip(block.steps) {
                let inputs = inputs.to_le_bytes().map(|step| i32::from(step as i8));
                let (weights, _) = weights.as_chunks::<FOUR>();
                for (product, weights) in products.iter_mut().zip(weights) {
                    *product +=
                        weights.iter().zip(inputs).map(|(weight, input)| i32::from(*weight) * input).sum::<i32>();
                }
            }
            for ((sum, product), scale) in sums.iter_mut().zip(products).zip(scales) {
                // Rounded once, as the instructions below round it, so that the sums have the same bits on every processor.
                *sum = (product as f32).mul_add(scale * block.scale, *sum);
            }
        }
    }
    sums
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;
    use std::hint::black_box;

    use super::{BLOCK, Block, FOUR, OUTPUTS, ROWS, Tile};

    /// Number of outputs that a vector of 256 bits holds.
    const HALF: usize = OUTPUTS / 2;

    #[target_feature(enable = "avx512f,avx512vnni")]
    pub fn tile_vnni(
        steps: &[[[u8; OUTPUTS * FOUR]; BLOCK / FOUR]],
        scales: &[[f32; OUTPUTS]],
        rows: &[[Block; ROWS]],
    ) -> Tile {
        let mut sums = [_mm512_setzero_ps(); ROWS];
        for ((steps, scales), blocks) in steps.iter().zip(scales).zip(rows) {
            // Two sums for each row, because each instruction waits for the one before that adds to the same sum.
            let mut products = [[_mm512_setzero_si512(); 2]; ROWS];
            for (product, block) in products.iter_mut().zip(blocks) {
                product[0] = _mm512_set1_epi32(i32::from(block.excess as i16) + (block.excess >> 16));
            }
            for (four, weights) in steps.iter().enumerate() {
                // SAFETY: the array is 64 bytes long, and an unaligned load needs no alignment.
                let weights = unsafe { _mm512_loadu_si512(weights.as_ptr().cast()) };
                for (product, block) in products.iter_mut().zip(blocks) {
                    let sum = &mut product[four % 2];
                    *sum = _mm512_dpbusd_epi32(*sum, weights, _mm512_set1_epi32(block.steps[four]));
                }
            }
            // SAFETY: the array holds sixteen floats, and an unaligned load needs no alignment.
            let scales = unsafe { _mm512_loadu_ps(scales.as_ptr()) };
            for ((sum, [first, second]), block) in sums.iter_mut().zip(products).zip(blocks) {
                let whole = _mm512_cvtepi32_ps(_mm512_add_epi32(first, second));
                *sum = _mm512_fmadd_ps(whole, _mm512_mul_ps(scales, _mm512_set1_ps(block.scale)), *sum);
            }
        }
        let mut tile = Tile::default();
        for (floats, sum) in tile.iter_mut().zip(sums) {
            // SAFETY: the array holds sixteen floats, and an unaligned store needs no alignment.
            unsafe { _mm512_storeu_ps(floats.as_mut_ptr(), sum) };
        }
        tile
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn tile(
        steps: &[[[u8; OUTPUTS * FOUR]; BLOCK / FOUR]],
        scales: &[[f32; OUTPUTS]],
        rows: &[[Block; ROWS]],
    ) -> Tile {
        let mut tile = Tile::default();
        for ((steps, scales), blocks) in steps.iter().zip(scales).zip(rows) {
            // Each lane sums 16 products of `weight step - 8` and an input's step. The final sum is at most 16 * 8 * 127,
            // which fits 16 bits. Intermediate overflow wraps around and cancels out.
            let mut products = blocks.map(|block| [_mm256_set1_epi32(block.excess); 2]);
            // If the compiler knew the number of rounds, it would unroll the loop and load all weights first, and there are
            // not enough registers for these and the sums: it would take a fifth longer.
            for (four, weights) in black_box(steps.as_slice()).iter().enumerate().take(BLOCK / FOUR) {
                let weights = halves(weights).map(|half| bytes(half));
                for (products, block) in products.iter_mut().zip(blocks) {
                    let inputs = _mm256_set1_epi32(block.steps[four]);
                    for (product, weights) in products.iter_mut().zip(weights) {
                        *product = _mm256_add_epi16(*product, _mm256_maddubs_epi16(weights, inputs));
                    }
                }
            }
            let scales = halves(scales).map(|half| floats(half));
            for ((sums, products), block) in tile.iter_mut().zip(products).zip(blocks) {
                let (sums, _) = sums.as_chunks_mut();
                for ((sum, product), scales) in sums.iter_mut().zip(products).zip(scales) {
                    let whole = _mm256_cvtepi32_ps(_mm256_madd_epi16(product, _mm256_set1_epi16(1)));
                    let scale = _mm256_mul_ps(scales, _mm256_set1_ps(block.scale));
                    let added = _mm256_fmadd_ps(whole, scale, floats(sum));
                    // SAFETY: the array holds eight floats, and an unaligned store needs no alignment.
                    unsafe { _mm256_storeu_ps(sum.as_mut_ptr(), added) };
                }
            }
        }
        tile
    }

    /// Returns the lower and the upper half.
    fn halves<T, const LENGTH: usize>(whole: &[T]) -> [&[T; LENGTH]; 2] {
        let (halves, _) = whole.as_chunks();
        [&halves[0], &halves[1]]
    }

    #[target_feature(enable = "avx2")]
    fn bytes(bytes: &[u8; HALF * FOUR]) -> __m256i {
        // SAFETY: the array is 32 bytes long, and an unaligned load needs no alignment.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    fn floats(floats: &[f32; HALF]) -> __m256 {
        // SAFETY: the array holds eight floats, and an unaligned load needs no alignment.
        unsafe { _mm256_loadu_ps(floats.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn converts_16_bit_floats() {
        for (bits, float) in
            [(0, 0.0), (0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_95), (0x7bff, 65504.0), (1, 2_f32.powi(-24))]
        {
            assert_eq!(half(bits), float);
        }
    }

    #[test]
    fn lower_halves_of_block_bytes_come_first() {
        let mut block = [0x88; PACKED];
        (block[0], block[1], block[2], block[17]) = (0, 0x3c, 0x1f, 0x70);
        let weights = weights(&block);
        assert_eq!((weights[0], weights[1], weights[15], weights[16], weights[31]), (7.0, 0.0, -8.0, -7.0, -1.0));
    }

    /// Builds a block of weights between -4 and 3.5.
    fn block(steps: [u8; BLOCK / 2]) -> [u8; PACKED] {
        let mut block = [0; PACKED];
        block[..2].copy_from_slice(&0x3800_u16.to_le_bytes());
        block[2..].copy_from_slice(&steps);
        block
    }

    #[test]
    fn largest_sums_do_not_overflow() {
        let both: [f32; BLOCK] = std::array::from_fn(|at| if at % FOUR < 2 { 1.0 } else { -1.0 });
        for steps in [[0xff; 16], [0; 16]] {
            let layer = Linear::new(&[block(steps); OUTPUTS], vec![0.0; OUTPUTS]);
            for inputs in [[1.0; BLOCK], [-1.0; BLOCK], both] {
                let exact: f32 = inputs.iter().zip(weights(&block(steps))).map(|(input, weight)| input * weight).sum();
                let got = layer.apply(&QuantisedRows::new(&inputs, BLOCK));
                assert!(got.iter().all(|value| (value - exact).abs() < 1e-3), "{got:?} {exact}");
            }
        }
    }

    /// Computes a tile with each kernel that this processor supports.
    fn tiles(
        steps: &[[[u8; OUTPUTS * FOUR]; BLOCK / FOUR]],
        scales: &[[f32; OUTPUTS]],
        rows: &[[Block; ROWS]],
    ) -> Vec<(&'static str, Tile)> {
        let mut tiles = vec![("best", tile(steps, scales, rows))];
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            // SAFETY: the condition checks that the processor supports AVX2 and FMA.
            tiles.push(("AVX2", unsafe { x86::tile(steps, scales, rows) }));
        }
        tiles
    }

    proptest! {
        #[test]
        fn products_match_floats_within_quantisation_error(
            (rows, groups, blocks) in (0_usize..10, 1_usize..4, 1_usize..4),
            seed: [u8; 32],
        ) {
            let random = |at: usize| seed[at % 32].wrapping_mul(31).wrapping_add((at / 32 * 7 + at) as u8);
            let (outputs, width) = (groups * OUTPUTS, blocks * BLOCK);
            let packed: Vec<_> =
                (0..outputs * blocks).map(|at| block(std::array::from_fn(|byte| random(at * 16 + byte)))).collect();
            let bias: Vec<f32> = (0..outputs).map(|at| at as f32).collect();
            let inputs: Vec<f32> = (0..rows * width).map(|at| f32::from(random(at + 5)) / 64.0 - 2.0).collect();
            let layer = Linear::new(&packed, bias);
            let got = layer.apply(&QuantisedRows::new(&inputs, width));
            prop_assert_eq!(got.len(), rows * outputs);
            for (row, got) in inputs.chunks_exact(width).zip(got.chunks_exact(outputs)) {
                for (output, got) in got.iter().enumerate() {
                    let weights = packed[output * blocks..][..blocks].iter().flat_map(weights);
                    let exact: f32 = row.iter().zip(weights).map(|(input, weight)| input * weight).sum();
                    // The bound is half a step of 2 / 127 for each input, times the largest weight.
                    prop_assert!((got - exact - output as f32).abs() <= width as f32 * 4.0 / 127.0, "{got} {exact}");
                }
            }
            for (group, steps) in layer.steps.chunks_exact(blocks).enumerate() {
                for rows in QuantisedRows::new(&inputs, width).blocks.chunks_exact(blocks) {
                    let scales = &layer.scales[group * blocks..][..blocks];
                    let portable = tile_portable(steps, scales, rows);
                    for (kernel, simd) in tiles(steps, scales, rows) {
                        for (simd, portable) in simd.iter().flatten().zip(portable.iter().flatten()) {
                            prop_assert_eq!(simd.to_bits(), portable.to_bits(), "{}: {} {}", kernel, simd, portable);
                        }
                    }
                }
            }
        }
    }
}
