// Names and telephone numbers in the forms in which people write them: generated from tables, inside ordinary sentences. The words around a
// name remain, and persons with one equal part, longer numbers and ordinary words are not found.
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { type CountryCode, getCountryCallingCode, getExampleNumber, type NationalNumber } from 'libphonenumber-js'
import examples from 'libphonenumber-js/mobile/examples'
import { describe, expect, it } from 'vitest'
import { sampledRuns, sampleSeed } from '#lib/testing/sampling.ts'
import { patronymics } from '#lib/text/name-data.ts'
import { dialedForms, digitsIn, leastDigits } from '#lib/text/numbers.ts'
import { foldWord, tokenize } from '#lib/text/words.ts'
import { Fingerprints, mergeSpans } from './fingerprints.ts'

type Rendered = (first: string, last: string) => string
type Language = keyof typeof names

const names = {
  English: ['Iris Probe', 'Rupert Haskell', 'Nora Fairweather', 'James Ellis', "Sean O'Dwyer", 'Mary-Jane Whitlock'],
  German: ['Anna Müller', 'Jürgen Weiß', 'Björn Größmann', 'Käthe Voß', 'Lars Schröder', 'Uwe Bär'],
  Turkish: ['Ayşe Yılmaz', 'Çağrı Öztürk', 'Işıl Güneş', 'Mehmet Demir', 'Elif Şahin', 'Barış Koç'],
  Finnish: ['Mikko Virtanen', 'Päivi Mäkinen', 'Aino Salo', 'Jukka Nieminen', 'Satu Heikkinen', 'Eero Laine'],
  Polish: ['Jan Kowalski', 'Zofia Wiśniewska', 'Łukasz Zieliński', 'Agnieszka Dąbrowska'],
  Czech: ['Jana Nováková', 'Petr Dvořák', 'Lenka Svobodová', 'Tomáš Veselý'],
  Russian: ['Иван Петров', 'Ольга Смирнова', 'Дмитрий Вознесенский', 'Наталья Кузнецова', 'Андрей Никитин'],
  Ukrainian: ['Тарас Шевченко', 'Оксана Бондар', 'Олег Ковальчук'],
  Greek: ['Γιώργος Παπαδόπουλος', 'Μαρία Αλεξίου', 'Νίκος Γεωργίου', 'Ελένη Δημητρίου'],
  Chinese: ['王小明', '李建国', '欧阳文轩', '陈静怡'],
  Japanese: ['田中 太郎', '鈴木 花子', '高橋 健一', 'さくら 山本'],
  Korean: ['김민수', '이서연', '박지훈', '최은영'],
  Arabic: ['محمد الحداد', 'فاطمة الزهراء', 'خالد المنصور', 'ليلى حسان'],
  Hebrew: ['דוד לוי', 'מיכל כהן', 'יעל פרידמן', 'אברהם שפירא'],
  Hindi: ['अनिल शर्मा', 'प्रिया वर्मा', 'राजेश गुप्ता'],
  Thai: ['สมชาย ใจดี', 'มาลี ศรีสุข'],
} satisfies Record<string, string[]>

/** Words around a name. None is a part of a name. */
const around: Record<Language, [before: string, after: string]> = {
  English: ['yesterday we met', 'near the harbour before lunch'],
  German: ['gestern sahen wir', 'vor dem Bahnhof im Regen'],
  Turkish: ['dün akşam biz', 'için bir mektup yazdık'],
  Finnish: ['eilen illalla näimme', 'kanssa pitkän keskustelun'],
  Polish: ['wczoraj widzieliśmy', 'obok dworca podczas deszczu'],
  Czech: ['včera jsme viděli', 'vedle nádraží během deště'],
  Russian: ['вчера мы видели', 'возле вокзала под дождём'],
  Ukrainian: ['вчора ми бачили', 'біля вокзалу під дощем'],
  Greek: ['χθες είδαμε', 'κοντά στον σταθμό'],
  Chinese: ['昨天我们看见', '在车站旁边等车'],
  Japanese: ['昨日は', 'さんと駅で会いました'],
  Korean: ['어제 우리는', '역에서 만났다'],
  Arabic: ['رأينا أمس', 'قرب المحطة'],
  Hebrew: ['אתמול ראינו', 'ליד התחנה'],
  Hindi: ['कल हमने', 'को स्टेशन पर देखा'],
  Thai: ['เมื่อวานเราพบ', 'ที่สถานี'],
}

const plain: Record<string, Rendered> = {
  'in order': (first, last) => `${first} ${last}`,
  'in reverse': (first, last) => `${last} ${first}`,
  'with a comma': (first, last) => `${last}, ${first}`,
  'in two lines': (first, last) => `${first}\n${last}`,
  decomposed: (first, last) => `${first} ${last}`.normalize('NFD'),
  'as fields of JSON': (first, last) => JSON.stringify({ id: 4, first_name: first, last_name: last }),
  'as fields of a form': (first, last) => `Surname: ${last}\nGiven name: ${first}\n`,
  'with a long space': (first, last) => `${first}\u00a0\u2003${last}`,
}
const withCase: Record<string, Rendered> = {
  'in capitals': (first, last) => `${first} ${last}`.toUpperCase(),
  'in lower case': (first, last) => `${first} ${last}`.toLowerCase(),
  'with the family name in capitals': (first, last) => `${first} ${last.toUpperCase()}`,
  'with an initial': (first, last) => `${first} ${/^[A-Z]/i.test(first.normalize('NFD')) ? 'K' : first[0]}. ${last}`,
  'with an initial at the end': (first, last) => `${last}, ${first} ${first.slice(0, 1).toUpperCase()}.`,
}
const withoutMarks = (text: string) => text.normalize('NFD').replace(/\p{Mn}/gu, '')
const umlauts: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', ß: 'ss', Ä: 'Ae', Ö: 'Oe', Ü: 'Ue' }
const transcribed = (text: string) => text.normalize('NFC').replace(/[äöüßÄÖÜ]/g, (letter) => umlauts[letter] ?? letter)
const vowelOf = (last: string) => [...foldWord(last)].reverse().find((letter) => 'aeiou'.includes(letter)) ?? 'a'
/** As passports write Russian names (ICAO 9303). */
const passport: Record<string, string> = Object.fromEntries(
  'аaбbвvгgдdеeёeжzhзzиiйiкkлlмmнnоoпpрrсsтtуuфfхkhцtsчchшshщshchъieыyьэeюiuяia'
    .match(/[а-яё][a-z]*/g)
    ?.map((pair) => [pair.slice(0, 1), pair.slice(1)]) ?? [],
)
const romanized = (text: string) => [...text.toLowerCase()].map((letter) => passport[letter] ?? letter).join('')

const special: Partial<Record<Language, Record<string, Rendered>>> = {
  English: {
    possessive: (first, last) => `${first} ${last}'s`,
    'possessive, curly': (first, last) => `${first} ${last}’s`,
    'possessive without s': (first, last) => `${first} ${last}'`,
  },
  German: {
    genitive: (first, last) => `${first} ${last}${patronymics.has(foldWord(last)) ? '' : 's'}`,
    'genitive with an apostrophe': (first, last) => `${first} ${last}'`,
    transcribed: (first, last) => transcribed(`${first} ${last}`),
    'transcribed in reverse': (first, last) => transcribed(`${last}, ${first}`),
    'without marks': (first, last) => withoutMarks(`${first} ${last}`),
    'with ss': (first, last) => `${first} ${last}`.replaceAll('ß', 'ss'),
    'transcribed genitive': (first, last) =>
      transcribed(`${first} ${last}${patronymics.has(foldWord(last)) ? '' : 's'}`),
  },
  Turkish: {
    'with an apostrophe and a case': (first, last) => `${first} ${last}'dan`,
    'with a case': (first, last) =>
      !/[ğışĞİŞ]/.test(first + last)
        ? `${first} ${last}`
        : `${first} ${last}${/[aeiou]$/.test(foldWord(last)) ? 'n' : ''}${'ou'.includes(vowelOf(last)) ? 'un' : 'in'}`,
    'on a keyboard without its letters': (first, last) =>
      withoutMarks(`${first} ${last}`).replaceAll('ı', 'i').replaceAll('İ', 'I'),
  },
  Finnish: {
    genitive: (first, last) => `${first} ${last.replace(/nen$/, 'sen')}`,
    allative: (first, last) => `${first} ${last.replace(/nen$/, 'selle')}`,
    'without marks': (first, last) => withoutMarks(`${first} ${last}`),
  },
  Polish: {
    genitive: (first, last) =>
      last.endsWith('ska') && first.endsWith('a')
        ? `${first
            .replace(/([kg])a$/, '$1i')
            .replace(/ia$/, 'ii')
            .replace(/a$/, 'y')} ${last.slice(0, -1)}iej`
        : last.endsWith('ski') && /[^aeiouyk]$/.test(first)
          ? `${first}a ${last}ego`
          : `${first} ${last}`,
    'without marks': (first, last) => withoutMarks(`${first} ${last}`).replaceAll('ł', 'l').replaceAll('Ł', 'L'),
  },
  Czech: {
    genitive: (first, last) =>
      last.endsWith('ová')
        ? `${first.replace(/(?<![ijecčřšž])a$/, 'y')} ${last.slice(0, -1)}é`
        : last.endsWith('ý') && /[^aeiouyáéíýjsšcčřžx]$/.test(first) && !/(?:el|e[kc])$/.test(first)
          ? `${first}a ${last.slice(0, -1)}ého`
          : `${first} ${last}`,
    'without marks': (first, last) => withoutMarks(`${first} ${last}`),
  },
  Russian: {
    genitive: (first, last) => {
      const given = /[гкхжшчщ]а$/.test(first)
        ? `${first.slice(0, -1)}и`
        : /а$/.test(first)
          ? `${first.slice(0, -1)}ы`
          : /я$/.test(first)
            ? `${first.slice(0, -1)}и`
            : /[йь]$/.test(first)
              ? `${first.slice(0, -1)}я`
              : `${first}а`
      return `${given} ${last.endsWith('ский') ? `${last.slice(0, -2)}ого` : /а$/.test(last) ? `${last.slice(0, -1)}ой` : `${last}а`}`
    },
    'dative in reverse': (first, last) => {
      const given = /ия$/.test(first)
        ? `${first.slice(0, -1)}и`
        : /[ая]$/.test(first)
          ? `${first.slice(0, -1)}е`
          : /[йь]$/.test(first)
            ? `${first.slice(0, -1)}ю`
            : `${first}у`
      return `${last.endsWith('ский') ? `${last.slice(0, -2)}ому` : /а$/.test(last) ? `${last.slice(0, -1)}ой` : `${last}у`} ${given}`
    },
    'as in a passport': (first, last) => romanized(`${first} ${last}`),
  },
  Greek: {
    genitive: (first, last) =>
      /ος$/.test(first)
        ? `${first.replace(/ος$/, 'ου')} ${last.replace(/[οό]ς$/, 'ου').replace(/([αηάή])ς$/, '$1')}`
        : /[αη]$/.test(first) && /(?:ου|η|ή)$/.test(last)
          ? `${first}ς ${last.replace(/[ηή]$/, 'ης')}`
          : `${first} ${last}`,
    'without marks': (first, last) => withoutMarks(`${first} ${last}`),
  },
  Chinese: { 'with a title': (first, last) => `${last}${first}先生` },
  Japanese: {
    joined: (first, last) => `${first}${last}`,
    'with a title': (first, last) => `${first}${last}様`,
  },
  Korean: {
    'with a particle': (first, last) => `${last}${first}가`,
    'with a title and a particle': (first, last) => `${last}${first}씨는`,
    'with a genitive': (first, last) => `${last}${first}의`,
  },
  Arabic: {
    'with a preposition': (first, last) => `ل${first} ${last}`,
    'with and': (first, last) => `و${first} ${last}`,
  },
  Hebrew: {
    'with a preposition': (first, last) => `ל${first} ${last}`,
    'with and': (first, last) => `ו${first} ${last}`,
  },
}
const isCased = (language: Language) =>
  ['English', 'German', 'Turkish', 'Finnish', 'Polish', 'Czech', 'Russian', 'Ukrainian', 'Greek'].includes(language)
const formsOf = (language: Language): [string, Rendered][] =>
  Object.entries({
    ...plain,
    ...(isCased(language) ? withCase : {}),
    ...special[language],
  })

interface Person {
  language: Language
  first: string
  last: string
  /** As they registered it. */
  stored: string
}
function personOf(language: Language, stored: string): Person {
  if (language === 'Chinese' || language === 'Korean') {
    const family = stored.startsWith('欧阳') ? 2 : 1
    return { language, stored, first: stored.slice(family), last: stored.slice(0, family) }
  }
  const [first = '', last = ''] = stored.split(' ')
  return { language, stored, first, last }
}
const persons: Person[] = Object.entries(names).flatMap(([language, all]) =>
  all.map((stored) => personOf(language as Language, stored)),
)

const wordsIn = (text: string) => tokenize(text, { splits: true }).map(({ word }) => word)
const known = new Map<string, Fingerprints>()
const foundIn = (stored: string, text: string) => {
  let words = known.get(stored)
  if (!words) {
    const made = new Fingerprints()
    made.addName(stored)
    words = Fingerprints.fromBytes(made.toBytes())
    known.set(stored, words)
  }
  return mergeSpans(words.namesIn(text))
}

/** Why a form is not found and cut exactly; undefined if it is. */
function faultOf({ language, first, last, stored }: Person, form: string): string | undefined {
  const [before, after] = around[language]
  const text = `${before} ${form} ${after}`
  const spans = foundIn(stored, text)
  if (spans.length === 0) return `missed: ${text}`
  let rest = ''
  let from = 0
  for (const { start, end } of spans) {
    rest += `${text.slice(from, start)} `
    from = end
  }
  rest += text.slice(from)
  const remaining = wordsIn(rest).join(' ')
  const [one, other] = [wordsIn(before).join(' '), wordsIn(after).join(' ')]
  if (!remaining.startsWith(one) || !remaining.endsWith(other)) return `cut words around: ${text} → ${rest}`
  const isLeft = [first, last].some(
    (part) => [...part].length > 1 && ` ${remaining} `.includes(` ${wordsIn(part).join(' ')} `),
  )
  return isLeft ? `left a part: ${text} → ${rest}` : undefined
}

describe('names', () => {
  it('are found and cut exactly in every form of every language', () => {
    const faults = persons.flatMap((person) =>
      formsOf(person.language).flatMap(([name, render]) => {
        const fault = faultOf(person, render(person.first, person.last))
        return fault === undefined ? [] : [`${person.stored}, ${name}: ${fault}`]
      }),
    )
    expect(faults).toEqual([])
  })
  it('of persons that the tables do not have are found as well', () => {
    const others: Record<string, string[]> = JSON.parse(
      readFileSync(new URL('./written-forms-held-out.json', import.meta.url), 'utf8'),
    )
    const faults: string[] = []
    let count = 0
    for (const [language, all] of Object.entries(others))
      for (const one of all) {
        const [first = '', last = ''] = one.split('|')
        const isJoined = language === 'Chinese' || language === 'Korean'
        const person: Person = {
          language: language as Language,
          first,
          last,
          stored: isJoined ? `${last}${first}` : `${first} ${last}`,
        }
        for (const [name, render] of formsOf(person.language)) {
          count++
          const fault = faultOf(person, render(first, last))
          if (fault !== undefined) faults.push(`${language}, ${name}: ${fault}`)
        }
      }
    expect({ count, faults }).toEqual({ count, faults: [] })
  })
  it('of other persons with one equal part are not found', () => {
    for (const { stored, language, first, last } of persons)
      for (const other of persons) {
        if (other.language !== language || other.stored === stored) continue
        const [before, after] = around[language]
        for (const [name, render] of formsOf(language))
          for (const [given, family] of [
            [other.first, other.last],
            [first, other.last],
            [other.first, last],
          ] as const) {
            if (given === first && family === last) continue
            const text = `${before} ${render(given, family)} ${after}`
            expect(foundIn(stored, text), `${stored}, ${name}: ${text}`).toEqual([])
          }
      }
  })
  it.each([
    [
      'Will May',
      ['will may', 'Will May bring rain?', 'I hope it will. May I come?', 'WILL MAY BE LATE', 'they will, may, must'],
    ],
    ['Al Li', ['al li', 'et al. Li and others', 'metal lighter']],
    ['Grace Hill', ['with grace hill walkers climb', 'Grace hill', 'the grace, hill and valley']],
    ['May Long', ['It may long be so', 'May long days come', 'MAY LONG DAYS COME']],
    ['A B', ['a b c d', 'a, b and c', 'plan a b']],
    ['Mark Rose', ['the mark rose again', 'Mark rose from his chair', 'marks rose']],
    ['Anna Müller', ['Anna y Müller', 'Anna i Müller', 'Ann Amüller', 'Hannah Müllerin']],
    ['Anna Peter', ['Anna Peters', 'Anna Petersen']],
    ['Александр Петров', ['Александра Петрова пришла']],
  ] as const)('%s are not removed from ordinary words', (stored, texts) => {
    for (const text of texts) expect(foundIn(stored, text), text).toEqual([])
  })
  it.each([
    ['Will May', 'yesterday Will May called'],
    ['Grace Hill', 'Grace Hill called'],
    ['Mark Rose', 'a letter from Mark Rose'],
    ['Al Li', 'ask Al Li about it'],
  ] as const)('%s with capitals are found', (stored, text) => {
    expect(foundIn(stored, text)).toHaveLength(1)
  })
  it.each([
    ['Will May', 'Will May bring rain?'],
    ['Anna Müller', 'A. Müller called'],
    ['Iris Probe', 'we saw Iris there'],
    ['Александр Петров', 'у Александра Петрова'],
  ] as const)('%s in an uncertain form are counted', (stored, text) => {
    const words = new Fingerprints()
    words.addName(stored)
    const stays = Fingerprints.merged([Fingerprints.fromBytes(words.toBytes())])
    expect(stays.namesIn(text)).toEqual([])
    expect(stays.uncertainIn(text).length).toBeGreaterThan(0)
  })
})

const grouped = (digits: string, size: number, between: string) =>
  (digits.match(new RegExp(`.{1,${size}}`, 'g')) ?? []).join(between)
const inScript = (text: string, zero: number) =>
  text.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)))
function numberForms(country: CountryCode): Record<string, string> {
  const number = getExampleNumber(country, examples)
  if (!number) return {}
  const code = getCountryCallingCode(country)
  const national = number.formatNational()
  const digits = national.replace(/\D/g, '')
  const bare: NationalNumber = number.nationalNumber
  return {
    international: number.formatInternational(),
    'without spaces': number.number,
    'as an address': `tel:${number.number}`,
    'with two zeros': `00${code} ${bare}`,
    'with 011': `011 ${code} ${bare}`,
    'with dots': number.formatInternational().replaceAll(' ', '.'),
    'with hyphens': number.formatInternational().replaceAll(' ', '-'),
    'with slashes': number.formatInternational().replace(' ', '/').replaceAll(' ', ''),
    'in brackets': `(+${code}) ${bare}`,
    'without a plus': `${code}${bare}`,
    'in pairs': `+${code} ${grouped(bare, 2, ' ')}`,
    ...(digits !== bare &&
      digits.startsWith('0') &&
      digits.slice(1) === bare && { 'with a zero in brackets': `+${code} (0) ${bare}` }),
    national,
    'national without spaces': digits,
    'national with dots': national.replaceAll(/[ -]/g, '.').replace(/[()]/g, ''),
    'in Arabic digits': inScript(number.formatInternational(), 0x660),
    'in Persian digits': inScript(number.formatInternational(), 0x6f0),
    'in Devanagari digits': inScript(number.formatInternational(), 0x966),
    'in wide digits': inScript(number.formatInternational(), 0xff10).replace('+', '＋'),
    'with an extension': `${number.formatInternational()} ext. 12`,
    'with x': `${number.formatInternational()} x12`,
    'with x beside it': `${number.formatInternational()}x12`,
    'with a language': `Tel.:${number.formatInternational()}`,
  }
}
const some =
  'DE AT CH GB IE US CA FR ES PT IT NL BE LU PL CZ SK HU RO BG GR TR RU UA SE NO DK FI EE LV LT JP CN KR IN BR MX AR AU ZA EG IL SA AE'.split(
    ' ',
  )
const countriesOf = (isHeldOut: boolean) =>
  (Object.keys(examples) as CountryCode[]).filter((country) => some.includes(country) !== isHeldOut)
const numbersOf = (written: string) => {
  const words = new Fingerprints()
  for (const number of dialedForms(written)) words.addNumber(number)
  return Fingerprints.fromBytes(words.toBytes())
}

describe('telephone numbers', () => {
  it.each([
    ['of the table', false],
    ['of other countries', true],
  ] as const)('%s are found in every form, whatever form was erased', (_, isHeldOut) => {
    const faults: string[] = []
    for (const country of countriesOf(isHeldOut)) {
      const forms = Object.entries(numberForms(country)).filter(([, form]) => digitsIn(form).length >= leastDigits)
      for (const [name, written] of forms) {
        const words = numbersOf(written)
        for (const [other, form] of forms) {
          const text = `call ${form} tomorrow`
          const [span, ...more] = mergeSpans(words.namesIn(text))
          const rest = span && text.slice(0, span.start) + text.slice(span.end)
          if (!span || more.length > 0 || /(?:\p{Nd}.*){3}/u.test(rest ?? ''))
            faults.push(`${country} ${name} → ${other}: ${written} → ${form} (${rest})`)
        }
      }
    }
    expect(faults).toEqual([])
  })
  it('are not found inside longer numbers or with another digit', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...countriesOf(false)),
        fc.nat(99),
        fc.nat(99),
        fc.nat(9),
        (country, one, other, at) => {
          const forms = Object.values(numberForms(country))
          const words = numbersOf(forms[one % forms.length] ?? '')
          const form = forms[other % forms.length] ?? ''
          const changed = [...form]
          const places = changed.flatMap((sign, n) => (/[0-9]/.test(sign) ? [n] : [])).slice(-7)
          const place = places[at % places.length]
          if (place !== undefined && !/x1|ext/.test(form)) {
            changed[place] = String((Number(changed[place]) + 1) % 10)
            expect(words.namesIn(`call ${changed.join('')} tomorrow`), `${form}, ${changed.join('')}`).toEqual([])
          }
          if (/x1|ext|tel|\(|\+|＋|Tel/.test(form)) return
          const known = /^[+＋]/.test(forms[one % forms.length] ?? '') ? [`7${form}`] : []
          const before = /^\d+$/.test(form) ? [...known, `77${form}`, `4321-${form}`, `A${form}`] : []
          for (const longer of [...before, `${form}7`, `${form}-4321`, `${form}B`])
            expect(words.namesIn(`item ${longer} here`), longer).toEqual([])
        },
      ),
      { numRuns: sampledRuns('telephone numbers of others', 20_000, 400), seed: sampleSeed },
    )
  })
})

it('merged fingerprints find the telephone numbers and the names of ordinary words of each erasure', () => {
  const key = Buffer.from('12345678')
  const [one, other] = [new Fingerprints(key), new Fingerprints(key)]
  for (const number of dialedForms('+43 660 1234567')) one.addNumber(number)
  other.addName('Will May')
  const merged = Fingerprints.merged([one, other])
  const [number] = merged.namesIn('call 0660 1234567 today')
  const [name] = merged.namesIn('yesterday Will May called')
  expect(number && [one.has(number.run), other.has(number.run)]).toEqual([true, false])
  expect(name && [one.has(name.run), other.has(name.run)]).toEqual([false, true])
})

it('a name in separate fields is found after and before thousands of other labels', () => {
  for (const labels of ['first name ', 'given family ', 'surname first ', 'first x last y ']) {
    const many = labels.repeat(3_000)
    for (const text of [`${many}; First name: Iris, last name: Probe`, `First name: Iris, last name: Probe. ${many}`])
      expect(foundIn('Iris Probe', text), labels).toHaveLength(2)
  }
})
