import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { unpack } from './msgpack.ts'
import { InvalidMsgpack } from './msgpack-values.ts'
import { type Rewriting, rewriteValue } from './rewriting.ts'
import { threadScanner } from './thread-scanner.ts'

const bytes = (hex: string): Buffer => Buffer.from(hex.replace(/\s/g, ''), 'hex')
const str = (text: string): Buffer => {
  const content = Buffer.from(text)
  const head = content.length < 32 ? [0xa0 | content.length] : [0xd9, content.length]
  return Buffer.concat([Buffer.from(head), content])
}
const list = (...items: Buffer[]): Buffer => Buffer.concat([Buffer.from([0x90 | items.length]), ...items])
const map = (...entries: [Buffer, Buffer][]): Buffer =>
  Buffer.concat([Buffer.from([0x80 | entries.length]), ...entries.flat()])
const ext = (code: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(4)
  head[0] = 0xc8
  head.writeUInt16BE(payload.length, 1)
  head[3] = code
  return Buffer.concat([head, payload])
}
const text = 'She said no, and left the house for good.'
const id = 'message-number-1'
const human = (of: string, content: string): Buffer =>
  ext(
    5,
    list(
      str('langchain_core.messages.human'),
      str('HumanMessage'),
      map([str('content'), str(content)], [str('type'), str('human')], [str('id'), str(of)]),
      str('model_validate_json'),
    ),
  )

function rewritten(packed: Buffer, name = 'messages', more: Partial<Rewriting> = {}): Buffer {
  const reader = threadScanner({ ids: [id], texts: [text] })
  const { view, pack } = unpack(packed)
  reader.read(view)
  const how = { erasedThreads: reader.settle().erasedThreads, lists: new Set(['messages']), isLater: true, ...more }
  const made = rewriteValue(view, name, how)
  return made.isChanged ? pack(made.value, made.originOf) : packed
}

describe('unpack', () => {
  test.each([
    ['an array that is cut off', '93 01 02'],
    ['a string that is longer than its bytes', 'd9 50 61'],
    ['an array of 4 billion items', 'dd ffffffff'],
    ['a map of 4 billion entries', 'df ffffffff 01'],
    ['a string that is not UTF-8', 'a1 ff'],
    ['a reserved byte', 'c1'],
    ['bytes after the value', '01 02'],
    ['an extension that is shorter than its header says', 'c7 05 05 93'],
    ['a constructor without a name', 'd6 00 93 01 02 03'],
    ['a constructor that ends before its extension', 'c7 07 00 93 a1 61 a1 62 01 02'],
    ['nothing', ''],
  ])('rejects %s', (_, hex) => {
    expect(() => unpack(bytes(hex))).toThrow(InvalidMsgpack)
  })

  it('rejects values and extensions that are nested deeper than Python reads', () => {
    expect(() => unpack(Buffer.concat([Buffer.alloc(1_100, 0x91), bytes('c0')]))).toThrow(InvalidMsgpack)
    expect(() => unpack(Buffer.alloc(1_000_000, 0x91))).toThrow(InvalidMsgpack)
    let nested: Buffer = bytes('c0')
    for (let n = 0; n < 1_100; n++) nested = ext(7, nested)
    expect(() => unpack(nested)).toThrow(InvalidMsgpack)
  })
  it('reads a value that is nested a thousand levels deep, and pack rewrites it', () => {
    const deep = (...inside: Buffer[]) => Buffer.concat([Buffer.alloc(1_000, 0x91), list(...inside)])
    expect(rewritten(deep(human(id, text), str('x')))).toEqual(deep(str('x')))
  })

  it('returns the same bytes for any unchanged value', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (random) => {
        let read: ReturnType<typeof unpack>
        try {
          read = unpack(random)
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidMsgpack)
          return
        }
        const before = Buffer.from(random)
        // In a changed list, each other value keeps its bytes.
        expect(rewritten(Buffer.concat([bytes('93 c0'), before, human(id, text)]))).toEqual(
          Buffer.concat([bytes('92 c0'), before]),
        )
        expect(read.pack(read.view, () => undefined)).toEqual(
          typeof read.view === 'string' ? read.pack(read.view, () => undefined) : before,
        )
      }),
      { numRuns: 3_000 },
    )
  })
})

describe('rewriteValue', () => {
  test.each<[string, Buffer, Buffer]>([
    ['removes the message with the id', list(human(id, 'x'), human('other', 'y')), list(human('other', 'y'))],
    ['removes the message with the text', list(human('third', text), human('other', 'y')), list(human('other', 'y'))],
    [
      'keeps the encoding of numbers, floats, bytes and long headers',
      list(
        bytes('cc05'),
        bytes('cb3ff8000000000000'),
        bytes('d90161'),
        bytes('c40101'),
        human(id, 'x'),
        bytes('ca3fc00000'),
      ),
      list(bytes('cc05'), bytes('cb3ff8000000000000'), bytes('d90161'), bytes('c40101'), bytes('ca3fc00000')),
    ],
    [
      'removes the text from a nested constructor and keeps the order of its fields',
      ext(2, list(str('app'), str('Case'), map([str('2'), str(text)], [str('1'), bytes('cd0001')]))),
      ext(2, list(str('app'), str('Case'), map([str('2'), str('[erased]')], [str('1'), bytes('cd0001')]))),
    ],
    [
      'keeps non-string keys',
      map([list(str('a'), bytes('01')), str(text)], [bytes('02'), str('b')], [str('c'), bytes('c0')]),
      map([list(str('a'), bytes('01')), str('[erased]')], [bytes('02'), str('b')], [str('c'), bytes('c0')]),
    ],
    [
      'removes a Send without other content, and cuts the text from another',
      list(
        ext(1, list(str('langgraph.types'), str('Send'), list(str('a'), human(id, 'x')))),
        ext(1, list(str('langgraph.types'), str('Send'), list(str('b'), map([str('q'), str(text)])))),
      ),
      list(ext(1, list(str('langgraph.types'), str('Send'), list(str('b'), map([str('q'), str('[erased]')]))))),
    ],
    [
      'removes members of a set',
      ext(0, list(str('builtins'), str('set'), list(str(id), str('b')))),
      ext(0, list(str('builtins'), str('set'), list(str('b')))),
    ],
    [
      'empties bytes that contain the text',
      list(Buffer.concat([bytes('c429'), Buffer.from(text)])),
      list(bytes('c400')),
    ],
  ])('%s', (_, before, expected) => {
    const made = rewritten(before)
    // Lengths are written in the shortest form, as ormsgpack does.
    expect(unpack(made).view).toEqual(unpack(expected).view)
    expect(made.length).toBeLessThanOrEqual(expected.length)
    expect(made.includes(text)).toBe(false)
  })

  it('empties elements of a numpy array of texts and keeps its shape', () => {
    const wide = Buffer.from(text.padEnd(50, '\0'), 'utf16le')
    const utf32 = Buffer.alloc(200)
    for (let n = 0; n < 50; n++) utf32.writeUInt32LE(wide.readUInt16LE(n * 2), n * 4)
    const array = ext(6, list(str('<U50'), list(bytes('01')), str('C'), Buffer.concat([bytes('c4c8'), utf32])))
    const made = rewritten(array)
    expect(made.length).toBe(array.length)
    expect(made.includes(utf32.subarray(0, 40))).toBe(false)
    expect(made.subarray(0, array.length - 200)).toEqual(array.subarray(0, array.length - 200))
  })

  it('keeps an unknown extension, counts binary ones as not searched, and rejects one with erased words', () => {
    const opaque = ext(99, bytes('00ff01fe02'))
    expect(unpack(list(opaque)).opaque).toBe(1)
    expect(rewritten(list(opaque, human(id, 'x')))).toEqual(list(opaque))
    expect(unpack(list(ext(99, Buffer.from('plain words')))).opaque).toBe(0)
    expect(() => rewritten(list(ext(99, Buffer.from(`before ${text} after`))))).toThrow('cannot be changed')
  })

  it('keeps an empty human message when the state would lose its last human message', () => {
    const made = rewritten(list(human(id, text)), 'messages', { emptiedId: 'another-id' })
    expect(unpack(made).view).toEqual(unpack(list(human('another-id', '[erased]'))).view)
    const two = rewritten(list(human(id, text), human('other', 'y')), 'messages', { emptiedId: 'another-id' })
    expect(unpack(two).view).toEqual(unpack(list(human('other', 'y'))).view)
  })
})
