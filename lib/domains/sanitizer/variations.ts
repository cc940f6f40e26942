/** Base characters by their selectors of StandardizedVariants.txt (Unicode 17), as ranges of code points. */
const STANDARDIZED: readonly { selectors: string; bases: string }[] = [
  {
    selectors: 'FE00',
    bases: `30 2205 2229-222A 2268-2269 2272-2273 228A-228B 2293-2295 2297 229C 22DA-22DB 2A3C-2A3D 2A9D-2A9E 2AAC-2AAD 2ACB-2ACC FF10
1000 1002 1004 1010-1011 1015 1019-101A 101C-101D 1022 1031 1075 1078 107A 1080 AA60-AA66 AA6B-AA6C AA6F AA7A A856 A85C A85E-A860
A868 10AC5-10AC6 10AD6-10AD7 10AE1`,
  },
  {
    selectors: 'FE00-FE01',
    bases: `2018-2019 201C-201D 3001-3002 FF01 FF0C FF0E FF1A-FF1B FF1F 210B 2110 2112 211B 212C 2130-2131 2133 1D49C 1D49E-1D49F
1D4A2 1D4A5-1D4A6 1D4A9-1D4AC 1D4AE-1D4B5`,
  },
  { selectors: 'FE00-FE06', bases: '13000-1342F 13460-143FA' },
  { selectors: '180B-180D 180F', bases: '1820-1878 1880-18AA' },
]

const points = (ranges: string): string =>
  ranges
    .trim()
    .split(/\s+/)
    .map((range) =>
      range
        .split('-')
        .map((hex) => `\\u{${hex}}`)
        .join('-'),
    )
    .join('')
const oneOf = (ranges: string): string => `[${points(ranges)}]`

/** A base and its selector. */
const REGISTERED = new RegExp(
  `^(?:${[
    ...STANDARDIZED.map(({ selectors, bases }) => `${oneOf(bases)}${oneOf(selectors)}`),
    // The text and emoji presentations of emoji-variation-sequences.txt.
    '\\p{Emoji}[\\uFE0E\\uFE0F]',
    // Compatibility ideographs, and the ideographic variation database, in which no ideograph has more than 32 forms.
    '\\p{Unified_Ideograph}[\\uFE00-\\uFE02\\u{E0100}-\\u{E011F}]',
  ].join('|')})$`,
  'u',
)

/** Whether a variation selector after this character is registered. Any other one is invisible and could carry hidden data. */
export const isRegisteredVariation = (base: string, selector: string): boolean => REGISTERED.test(base + selector)
