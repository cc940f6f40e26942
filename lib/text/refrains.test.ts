// What formats repeat between the words of a text, in formats that no list names: each is written from a seed, with the words of several
// languages, and the words of another author beside them.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutStrings } from '#lib/domains/projects/values/value-decider.ts'
import { Fingerprints, mergeSpans } from '#lib/domains/projects/words/fingerprints.ts'
import { sampledRuns, sampleSeed } from '#lib/testing/sampling.ts'
import { repeatingPartsIn } from './refrains.ts'
import { tokenize } from './words.ts'

const sentences: readonly (readonly [own: string, other: string])[] = [
  [
    'My doctor says the tumor near my left kidney hasn’t grown since the surgery in Leominster last autumn',
    'Every other Wednesday the rowing club polishes its wooden boats before breakfast and argues about sponsors',
  ],
  [
    'Seit der Scheidung übernachte ich häufig bei meiner Schwägerin in der Größlinggasse weil das Geld fehlt',
    'Unser Kegelverein trifft sich künftig donnerstags im Gasthof hinter der Mühle und wählt einen Kassenwart',
  ],
  [
    'Geçen kış ameliyattan sonra sağ kulağım hiç işitmiyor ve artık geceleri ışığı kapatmadan uyuyamıyorum',
    'Mahalle korosu her perşembe akşamı eski istasyonun bekleme salonunda yeni şarkıları çalışıyor',
  ],
  [
    'Tôi bị chẩn đoán viêm gan từ mùa hè năm ngoái và phải uống thuốc mỗi ngày trước khi đi làm',
    'Câu lạc bộ cờ tướng của phường sẽ tổ chức giải đấu lớn vào chiều thứ bảy tại sân đình cũ',
  ],
  [
    'मुझे पिछले साल सर्दियों से मधुमेह की बीमारी है और मैं हर सुबह अस्पताल में इंजेक्शन लगवाने जाता हूँ',
    'हमारे मोहल्ले की संगीत मंडली हर शुक्रवार शाम पुराने मंदिर के आँगन में नए भजन गाती रहती है',
  ],
  [
    'С прошлой зимы я почти не слышу левым ухом и никому на работе кроме начальницы об этом не рассказывал',
    'Шахматный клуб нашего двора собирается каждый четверг вечером в старом буфете возле вокзала и пьёт чай',
  ],
]
const name = fc.stringMatching(/^[a-z]{2,7}$/)
const letter = fc.stringMatching(/^[A-Z]{1,3}$/)
/** What a format has before and after a few words, with the number of the item. */
const formats: readonly fc.Arbitrary<{ before: (n: number) => string; after: (n: number) => string }>[] = [
  letter.map((tag) => ({ before: () => `(${tag} `, after: () => ') ' })),
  letter.map((tag) => ({ before: () => '', after: () => `/${tag} ` })),
  name.map((one) => ({ before: () => '', after: () => ` {${one}} ` })),
  name.map((one) => ({ before: (n) => `${one}-${n}: `, after: () => ` ^id${one}\n` })),
  name.map((one) => ({ before: () => `${one.toUpperCase()} `, after: () => '\n' })),
  fc.tuple(name, name).map(([one, other]) => ({ before: () => `${one}("`, after: () => `") >> ${other}.txt\n` })),
  fc.tuple(name, name).map(([one, other]) => ({ before: (n) => `${one} [${n}]:\n  ${other} = "`, after: () => '"\n' })),
  fc.tuple(name, name).map(([one, other]) => ({ before: () => `{{${one}|${other}|`, after: () => '}} ' })),
  fc.tuple(name, letter).map(([one, other]) => ({
    before: (n) => `From: ${one} ${n}\nType: ${other}\n\n`,
    after: () => '\n\n',
  })),
  fc.constant({ before: (n: number) => `(${'abcdefghijklmnopqrst'[n] ?? 'z'}) `, after: () => '\n' }),
  fc.constant({ before: (n: number) => `2.${n}.1 `, after: () => '\n' }),
  fc.constant({ before: () => '', after: (n: number) => ` [note ${n}] ` }),
]
const inParts = (text: string, size: number) => text.match(new RegExp(`(?:\\S+ ?){1,${size}}`, 'g')) ?? []
const wordsIn = (text: string) => tokenize(text, { splits: true }).map(({ word }) => word)

describe('what a format repeats', () => {
  it('does not hide a run of words, and no word of another author is cut', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...sentences),
        fc.oneof(...formats),
        fc.integer({ min: 1, max: 5 }),
        fc.boolean(),
        ([own, other], { before, after }, size, isFirst) => {
          const words = new Fingerprints(Buffer.alloc(8, 7))
          words.add(own)
          const written = inParts(own, size)
            .map((part, n) => `${before(n + 1)}${part.trim()}${after(n + 1)}`)
            .join('')
          const stored = isFirst ? `${written}\n${other}\n` : `${other}\n${written}\n`
          const rest = cutStrings(stored, (text) => mergeSpans(words.runsIn(text))) ?? ''
          const left = wordsIn(rest)
          expect(` ${left.join(' ')} `).toContain(` ${wordsIn(other).join(' ')} `)
          // Fewer words than a run may remain at the edges of what was found.
          const mine = wordsIn(own).filter((word) => word.length > 3)
          const remaining = mine.filter((word) => left.includes(word) && !wordsIn(other).includes(word))
          expect(remaining.length, `${stored}\n→ ${rest}`).toBeLessThan(4)
        },
      ),
      { numRuns: sampledRuns('repeated parts of formats', 5_000, 200), seed: sampleSeed },
    )
  })
  it('is found as the number of a note directly behind a word', () => {
    const text = 'Seit der12 Scheidung übernachte ich bei13 meiner Schwägerin weil das Geld14 fehlt'
    const [part] = repeatingPartsIn(text)
    expect(part?.repeated.map(({ start, end }) => text.slice(start, end))).toEqual(['12', '13', '14'])
  })
  it.each(['ve', 'Geçen', 'uyuyamıyorum'])('is not a word of an item that is also a word of the format: %s', (word) => {
    const [[own = '', other = ''] = []] = sentences.filter(([text]) => text?.startsWith('Geçen'))
    const words = new Fingerprints(Buffer.alloc(8, 7))
    words.add(own)
    for (const size of [1, 2, 3]) {
      const written = inParts(own, size).map((part) => `aa("${part.trim()}") >> ${word}.txt\n`)
      const rest = cutStrings(`${other}\n${written.join('')}\n`, (text) => mergeSpans(words.runsIn(text))) ?? ''
      const left = wordsIn(own).filter((one) => one !== wordsIn(word)[0] && wordsIn(rest).includes(one))
      expect(left, `${size}: ${rest}`).toEqual([])
    }
  })
  it('is found in its place, with the numbers that it has', () => {
    const text = 'call("My doctor", 1) call("says that", 2) call("it grows", 3)'
    const [part] = repeatingPartsIn(text)
    expect(part?.repeated.map(({ start, end }) => text.slice(start, end))).toEqual(['call', '1) call', '2) call', '3'])
  })
  it.each([
    'Prose has no such signs, and it repeats the same words: the doctor, the nurse, the ward. The doctor said so. The nurse said so.',
    'He said "no" once. She said "yes" twice, and that was it.',
    'one\ntwo\nthree\nfour\nfive\nsix',
  ])('is nothing in %j', (text) => {
    expect(repeatingPartsIn(text)).toEqual([])
  })
  it('joins no name of two people', () => {
    const words = new Fingerprints()
    words.addName('Iris Probe')
    const text = 'ask("Iris") ask("Probe") ask("Otto") ask("Maier")'
    expect(words.namesIn(text)).toEqual([])
  })
  it('is not taken from a source: its other words alone are no run of it', () => {
    const words = new Fingerprints(Buffer.alloc(8, 7))
    words.add('a1/NN b1/NN c1/NN d1/NN e1/NN f1/NN')
    expect(words.runsIn('a1 b1 c1 d1 e1 f1')).toEqual([])
  })
})
