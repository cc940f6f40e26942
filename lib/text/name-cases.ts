import { foldWord } from './words.ts'

/**
 * The grammatical cases of names, as their languages form them by rule. A list for each case; equal positions of a given and a family name
 * are the same case. All words are folded.
 */
type Cases = readonly (readonly string[])[]
export type NameLanguage = 'russian' | 'polish' | 'czech' | 'finnish' | 'turkish' | 'greek'

const endsWith = (stem: string, ...cases: readonly string[]): string[][] =>
  cases.map((endings) => endings.split('/').map((ending) => (ending.startsWith('<') ? ending.slice(1) : stem + ending)))
const without = (word: string, count: number): string => word.slice(0, word.length - count)

/** Given names whose genitive of a man is the nominative of a woman's name. */
const paired = new Set(
  'александр валентин евгени валери юли карл богдан владислав станислав ярослав мирослав'.split(' '),
)
/** Russian and Ukrainian: genitive, dative, accusative, instrumental, prepositional. */
function russian(word: string, isFamily: boolean): Cases {
  if (isFamily) {
    if (/(?:[еоі]в|[иы]н)$/.test(word)) return endsWith(word, 'а', 'у', 'а', 'ым/им', 'е/і')
    if (/(?:[ео]в|[иы]н)а$/.test(word)) return endsWith(without(word, 1), 'ой', 'ой', 'у', 'ой/ою', 'ой')
    if (/(?:ск|цк)[иі]и$/.test(word)) return endsWith(without(word, 2), 'ого', 'ому', 'ого', 'им', 'ом')
    if (/(?:ыи|ои|[нр]ии)$/.test(word))
      return endsWith(without(word, 2), 'ого/его', 'ому/ему', 'ого/его', 'ым/им', 'ом/ем')
    if (/ая$/.test(word)) return endsWith(without(word, 2), 'ой', 'ой', 'ую', 'ой/ою', 'ой')
    if (/ко$/.test(word)) return endsWith(without(word, 1), 'о/а', 'о/у', 'о/а', 'о/ом', 'о/у')
    if (/(?:[оеиуюыэ]|[иы]х)$/.test(word) && !/[еаи]и$/.test(word)) return endsWith(word, '', '', '', '', '')
  }
  if (/ия$/.test(word)) return endsWith(without(word, 1), 'и', 'и', 'ю', 'еи/ею', 'и')
  if (/(?:[гкхжшчщ])а$/.test(word)) return endsWith(without(word, 1), 'и', 'е/і', 'у', 'ои/ою/еи/ею', 'е/і')
  if (/а$/.test(word)) return endsWith(without(word, 1), 'ы/и', 'е/і', 'у', 'ои/ою', 'е/і')
  if (/я$/.test(word)) return endsWith(without(word, 1), 'и', 'е', 'ю', 'еи/ею', 'е')
  if (/ии$/.test(word)) return endsWith(without(word, 1), 'я', 'ю', 'я', 'ем', 'и')
  if (/и$/.test(word)) return endsWith(without(word, 1), 'я', 'ю', 'я', 'ем', 'е')
  // A soft sign is a man's or a woman's.
  if (/ь$/.test(word)) return endsWith(without(word, 1), 'я/и', 'ю/и', 'я/ь', 'ем/ью', 'е/и')
  if (/[бвгджзклмнпрстфхцчшщ]$/.test(word)) {
    // A woman's family name of this form has no cases.
    const same = isFamily ? `/<${word}` : ''
    const fleeting = { павел: 'павл', лев: 'льв', петр: 'петр' }[word] ?? word
    const middle = /[жшчщц]$/.test(word) ? 'ем' : 'ом/ем'
    return endsWith(fleeting, `а${same}`, `у/ові${same}`, `а${same}`, `${middle}${same}`, `е/і/ові${same}`)
  }
  return endsWith(word, '', '', '', '', '')
}

/** Genitive, dative, accusative, instrumental, locative. */
function polish(word: string, isFamily: boolean): Cases {
  if (/[scz]ki$|dzki$/.test(word)) return endsWith(word, 'ego', 'emu', 'ego', 'm', 'm')
  if (isFamily && /[scz]ka$|dzka$/.test(word)) return endsWith(without(word, 1), 'iej', 'iej', 'a', 'a', 'iej')
  if (isFamily && /ova$/.test(word)) return endsWith(without(word, 1), 'ej', 'ej', 'a', 'a', 'ej')
  if (/[^aeiouy]ia$|[aeou]ja$/.test(word)) return endsWith(without(word, 1), 'i/', '/i', 'e', 'a', '/i')
  if (/a$/.test(word)) {
    const stem = without(word, 1)
    const soft = stem
      .replace(/k$/, 'c')
      .replace(/g$/, 'dz')
      .replace(/t$/, 'ci')
      .replace(/d$/, 'dzi')
      .replace(/r$/, 'rz')
      .replace(/ch$/, 'sz')
    const dative = `<${soft}e/<${soft}ie`
    return endsWith(stem, 'y/i', dative, 'e', 'a', dative)
  }
  if (/[^aeiouy]$/.test(word)) {
    const same = isFamily ? `/<${word}` : ''
    const short = word.replace(/([^aeiou])i?e([kclrn])$/, '$1$2')
    const soft = word.replace(/t$/, 'ci').replace(/d$/, 'dzi').replace(/r$/, 'rz')
    const i = /[kg]$/.test(word) ? 'i' : ''
    return [
      [`${short}a`, `${word}a`, ...(isFamily ? [word] : [])],
      [`${short}owi`, `${word}owi`, `${short}u`, ...(isFamily ? [word] : [])],
      [`${short}a`, `${word}a`, ...(isFamily ? [word] : [])],
      endsWith(short, `${i}em${same}`)[0] ?? [],
      [`${short}u`, `${short}ie`, `${soft}e`, ...(isFamily ? [word] : [])],
    ]
  }
  return endsWith(word, '', '', '', '', '')
}

function czech(word: string, isFamily: boolean): Cases {
  if (isFamily && /ova$/.test(word)) return endsWith(without(word, 1), 'e', 'e', 'ou', 'ou', 'e')
  if (isFamily && /y$/.test(word)) return endsWith(without(word, 1), 'eho', 'emu', 'eho', 'ym', 'em')
  if (isFamily && /(?:sk|ck|n)a$/.test(word)) return endsWith(without(word, 1), 'e/y', 'e', 'ou/u', 'ou', 'e')
  if (/[iy]e$/.test(word)) return endsWith(without(word, 1), 'e', 'i', 'i', 'i', 'i')
  if (/a$/.test(word)) {
    const stem = without(word, 1)
    const soft = stem.replace(/k$/, 'c').replace(/h$/, 'z').replace(/g$/, 'z').replace(/ch$/, 's')
    return endsWith(stem, 'y/i', `e/ovi/<${soft}e`, 'u', 'ou', `e/ovi/<${soft}e`)
  }
  if (/[^aeiouy]$/.test(word)) {
    const short = word.replace(/e([klcnr])$/, '$1')
    const of = (...endings: string[]) => [...new Set([short, word])].flatMap((stem) => endings.map((one) => stem + one))
    return [of('a', 'e'), of('u', 'ovi', 'i'), of('a', 'e'), of('em'), of('u', 'ovi', 'i')]
  }
  if (/o$/.test(word)) return endsWith(without(word, 1), 'a', 'ovi/u', 'a', 'em', 'ovi/u')
  return endsWith(word, '', '', '', '', '')
}

/** Of the consonants before the last vowel: what remains when a syllable is closed. */
const grades: readonly (readonly [from: RegExp, to: string])[] = [
  [/nk(?=[aeiouy]+$)/, 'ng'],
  [/nt(?=[aeiouy]+$)/, 'nn'],
  [/mp(?=[aeiouy]+$)/, 'mm'],
  [/lt(?=[aeiouy]+$)/, 'll'],
  [/rt(?=[aeiouy]+$)/, 'rr'],
  [/ht(?=[aeiouy]+$)/, 'hd'],
  [/([kpt])\1(?=[aeiouy]+$)/, '$1'],
  [/(?<=[aeioulr])p(?=[aeiouy]+$)/, 'v'],
  [/(?<=[aeiou])t(?=[aeiouy]+$)/, 'd'],
  [/(?<=[aeioulr])k(?=[aeiouy]+$)/, ''],
]
const inner = ['n', 'lle', 'lla', 'lta', 'ssa', 'sta', 'ksi', 'lta']
/** In a Finnish full name, only the family name has a case. */
function finnish(word: string, isFamily: boolean): Cases {
  if (!isFamily) return [[word]]
  if (/nen$/.test(word)) {
    const stem = `${without(word, 3)}se`
    return [[...inner.map((ending) => stem + ending), `${stem}na`, `${stem}en`, `${without(word, 3)}sta`]]
  }
  if (/[aeiouy]$/.test(word)) {
    const stems = new Set([word])
    if (/i$/.test(word)) stems.add(`${without(word, 1)}e`)
    const found: string[] = []
    for (const stem of stems) {
      const weak = grades.reduce((last, [from, to]) => (last === stem ? stem.replace(from, to) : last), stem)
      for (const one of new Set([stem, weak])) found.push(...inner.map((ending) => one + ending))
      found.push(`${stem}na`, `${stem}a`, `${stem}${stem.at(-1)}n`, `${stem}ta`)
    }
    return [found]
  }
  return [['in', 'ille', 'illa', 'ilta', 'issa', 'ista', 'ia', 'iin', 'ina', 'iksi'].map((ending) => word + ending)]
}

/** Turkish: suffixes follow the last vowel of the name. Its dotless i is folded to i. */
function turkish(word: string, isFamily: boolean): Cases {
  if (!isFamily) return [[word]]
  const vowel = /[aeiou](?=[^aeiou]*$)/.exec(word)?.[0] ?? 'a'
  const high = vowel === 'o' || vowel === 'u' ? 'u' : 'i'
  const low = ['a', 'e']
  const isOpen = /[aeiou]$/.test(word)
  const found = isOpen
    ? [`n${high}n`, `y${high}`, ...low.flatMap((one) => [`y${one}`, `yl${one}`])]
    : [`${high}n`, high, ...low.flatMap((one) => [one, `l${one}`])]
  for (const one of low) for (const hard of ['d', 't']) found.push(`${hard}${one}`, `${hard}${one}n`, `${hard}${one}ki`)
  return [found.map((ending) => word + ending)]
}

/** Genitive, accusative, vocative. */
function greek(word: string, isFamily: boolean): Cases {
  if (/ος$|οσ$/.test(word)) return endsWith(without(word, 2), 'ου', 'ο', 'ε/ο')
  if (/[αηε]σ$/.test(word)) return endsWith(without(word, 1), '', '', '')
  if (/ουσ$/.test(word)) return endsWith(without(word, 1), '', '', '')
  if (/[αη]$/.test(word)) return endsWith(word, isFamily ? 'σ/' : 'σ', '', '')
  return endsWith(word, '', '', '')
}

const rules: Readonly<Record<NameLanguage, (word: string, isFamily: boolean) => Cases>> = {
  russian,
  polish,
  czech,
  finnish,
  turkish,
  greek,
}

const letters: readonly (readonly [NameLanguage, RegExp])[] = [
  ['russian', /^\p{Script=Cyrillic}+$/u],
  ['greek', /^\p{Script=Greek}+$/u],
  ['polish', /[ąćęłńśźż]|(?:[sc]k[ia]|dzk[ia]|czyk|wicz|czak|wska|owa)$/iu],
  ['czech', /[ěřůďťň]|ová$|[áéíýšžč]/iu],
  [
    'turkish',
    /[ğışĞİŞ]|(?:^|[a-zçöü])(?:oğlu|oglu|demir|kaya|yildiz|celik|aydin|arslan|dogan|ozturk|yilmaz|sahin|polat|korkmaz|bulut)$|^(?:Demir|Kaya|Yildiz|Celik|Aydin|Arslan|Dogan|Ozturk|Öztürk|Yilmaz|Sahin|Polat|Korkmaz|Bulut)$/u,
  ],
  [
    'finnish',
    /(?:nen|[aeiou]l[aä]|mäki|niemi|järvi|koski|lahti|salmi|salo|saari|ranta|harju|vuori|virta|lampi|rinne|heikki|aho|laakso)$/iu,
  ],
]
const given: readonly (readonly [NameLanguage, string])[] = [
  [
    'polish',
    'jan anna maria piotr krzysztof andrzej tomasz marcin marek adam katarzyna malgorzata agnieszka barbara ewa krystyna elzbieta magdalena joanna jakub mateusz wojciech zofia monika zbigniew jerzy tadeusz kamil dawid rafal jacek dorota beata jadwiga danuta grazyna bozena karolina natalia aleksandra michal pawel lukasz grzegorz stanislaw jozef',
  ],
  [
    'czech',
    'jan jana petr jiri josef pavel martin tomas jaroslav miroslav zdenek vaclav frantisek lukas jakub ondrej vojtech milan karel marie eva hana lenka katerina vera alena petra lucie jaroslava ludmila helena jitka martina zdenka ivana monika marketa jarmila tereza veronika daniel michal adam matej marek stanislav ladislav antonin radek david dana pavla zuzana kristyna barbora',
  ],
  [
    'turkish',
    'mehmet mustafa ahmet ali huseyin hasan ibrahim ismail osman yusuf murat omer ramazan halil suleyman abdullah mahmut recep salih fatma ayse emine hatice zeynep elif meryem serife zehra sultan hanife merve emre burak kemal orhan deniz can cem selim kerem baris esra busra kubra selin defne gizem ozge pinar tolga serkan gokhan onur ugur',
  ],
  [
    'finnish',
    'matti juha timo kari mikko antti jari jukka mika markku pekka hannu heikki seppo janne ari sami ville petri lauri eino olavi tapani tuula anne paivi anna-liisa ritva leena pirjo sari minna marja tarja riitta kirsi aino helmi eeva liisa kaisa satu tiina heli outi hanna laura johanna elina emilia veikko kalevi jussi teemu tuomas aleksi eetu onni vaino urho toivo eero ilkka risto reijo raimo jorma esa erkki pentti tapio juhani',
  ],
]
const givenOf = new Map<string, NameLanguage[]>()
for (const [language, names] of given)
  for (const name of names.split(' ')) givenOf.set(name, [...(givenOf.get(name) ?? []), language])

/** The languages whose rules a name follows, as its letters, its endings and its given name show. */
export function languagesOf(first: { written: string; folded: string }, last: { written: string }): NameLanguage[] {
  const found = new Set<NameLanguage>(givenOf.get(first.folded))
  for (const [language, pattern] of letters) {
    const isScript = language === 'russian' || language === 'greek'
    if (
      isScript
        ? pattern.test(first.written.normalize('NFC')) && pattern.test(last.written.normalize('NFC'))
        : pattern.test(last.written.normalize('NFC')) ||
          (language !== 'finnish' && pattern.test(first.written.normalize('NFC')))
    )
      found.add(language)
  }
  return [...found]
}

/**
 * The forms of a name in each case, as sequences of folded words; the family name is the last word. `isAmbiguous`: the form is also the name
 * of a woman with the same family.
 */
export function casesOf(language: NameLanguage, words: readonly string[]): { words: string[]; isAmbiguous: boolean }[] {
  const decline = rules[language]
  const each = words.map((word, at) => decline(word, at === words.length - 1))
  const found: { words: string[]; isAmbiguous: boolean }[] = []
  const [first = ''] = words
  for (let at = 0; at < Math.max(...each.map(({ length }) => length)); at++) {
    let forms: string[][] = [[]]
    // A foreign given name may have no cases.
    for (const [n, cases] of each.entries())
      forms = forms.flatMap((before) =>
        [...(cases[at] ?? []), ...(n < words.length - 1 ? [words[n] ?? ''] : [])].map((one) => [
          ...before,
          foldWord(one),
        ]),
      )
    for (const form of forms) {
      if (form.every((word, n) => word === words[n])) continue
      const isAmbiguous =
        language === 'russian' &&
        /[ая]$/.test(form[0] ?? '') &&
        /[еоиы][вн]а$/.test(form.at(-1) ?? '') &&
        paired.has(first.replace(/и$/, ''))
      found.push({ words: form, isAmbiguous })
    }
  }
  return found
}

const koreanTitles = ['', '씨', '님', '군', '양', '선생님', '대리', '과장', '팀장', '부장', '교수', '교수님', '박사']
const koreanParticles =
  '은 는 이 가 을 를 의 에게 에게서 께 께서 와 과 로 으로 도 만 한테 한테서 부터 까지 이랑 랑 하고 이다 입니다 이고 이라고 라고 이는 이가 이를 이의 이도 야 아'.split(
    ' ',
  )
/** Korean writes titles and particles directly after a name. */
export const withParticles = (name: string): string[] =>
  koreanTitles.flatMap((title) => ['', ...koreanParticles].map((particle) => name + title + particle))
/** Arabic and Hebrew write conjunctions, prepositions and the article directly before a name. */
export const withProclitics = (word: string): string[] =>
  /^\p{Script=Arabic}/u.test(word)
    ? ['و', 'ف', 'ب', 'ل', 'ك', 'ول', 'وب'].map((sign) => sign + word)
    : /^\p{Script=Hebrew}/u.test(word)
      ? ['ו', 'ב', 'ל', 'מ', 'ש', 'ה', 'כ', 'של', 'ול', 'וש', 'שה'].map((sign) => sign + word)
      : []
