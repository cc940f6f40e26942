/** Words before or after a name that are not part of it, folded. */
export const titles = new Set(
  (
    'dr prof professor mr mrs ms miss mx sir dame lord lady rev fr herr frau hr dipl ing mag msc bsc ba ma mba phd md jr sr ' +
    'mme mlle monsieur madame senor senora sr sra don dona sig signor signora pan pani ing mgr bc judr mudr'
  ).split(' '),
)

/** Given and family names that are also ordinary words: such a pair is a name only if it is written with capitals. */
export const commonWords = new Set(
  (
    'will may mark rose grace hope faith joy june april august summer autumn art bill chance dean drew frank gene grant jack miles nick ' +
    'pat ray rich rob rusty sue young long short white brown green black gray grey king price day love best moon park wood woods hill ' +
    'stone field fields rice bush bishop cook baker carter fisher hunter mason miller page porter potter shepherd smith taylor turner ' +
    'walker weaver wright church banks waters rivers lake ford forest marsh moss reed birch berry bell ball bond bright case chase ' +
    'church cross dale dear early fair fine fox frost gates gold good hand hard head high holiday house hunt joy just keen knight lamb ' +
    'law little low major man march mercy mills money more new noble north parks penny pleasant pool poor power quick read sharp shine ' +
    'silver small snow south spring star steel strong sunny sweet swift true wade ward wells west wild wise wolf worth work an al li lee ' +
    'can do so no yes he she it we you they his her our my is be to of on in at by and or the a i'
  ).split(' '),
)

/** Chinese family names of two characters. */
export const doubleSurnames = new Set(
  '欧阳 歐陽 司马 司馬 上官 诸葛 諸葛 东方 東方 皇甫 尉迟 公孙 慕容 令狐 司徒 夏侯 端木 百里 南宫 独孤 长孙 宇文'.split(
    ' ',
  ),
)

/** Ordinary words that English always writes with a capital. */
export const alwaysCapital = new Set('i may april june august march december monday sunday'.split(' '))

/** Family names that are another one with an s at their end: this form is not their genitive. */
export const patronymics = new Set(
  (
    'peter paul martin wilhelm heinrich hinrich friedrich johann jan arnold ebert robert william richard edward evan steven david daniel ' +
    'ander michael matthew mathew roger roberto harry phillip philip gibbon jacob jakob simon adam andrew stephen owen hugh griffith ' +
    'william walter wouter albert alber bernard bernd gerd gerhard eggert carsten karsten lorenz mark marten maarten nichol nicol ' +
    'water field brook wood hill river bank park mill well stone rod good wild hardenberg harm claas reimer volker lauren dirk ' +
    'fernande rodrigue gonzale martine lope pere jone jame thoma hay hick hawkin jenkin watkin perkin dawkin hopkin robin rogerson ' +
    'parson clark sander'
  ).split(' '),
)

/** How writers replace letters that their keyboard lacks, by language; a folded word has lost the accent already. */
export const spelledOut: readonly (readonly [from: RegExp, to: string])[] = [
  // German, Swedish, Finnish, Estonian, Hungarian
  [/ä/g, 'ae'],
  [/ö/g, 'oe'],
  [/ü/g, 'ue'],
  // Danish, Norwegian
  [/å/g, 'aa'],
  [/ø/g, 'oe'],
]
/** The reverse: `Mueller` may be written `Müller`, which is folded to `muller`. */
export const contracted: readonly (readonly [from: RegExp, to: string])[] = [
  [/ae/g, 'a'],
  [/oe/g, 'o'],
  [/ue/g, 'u'],
]

/** Romanizations of Cyrillic: passports (ICAO 9303), the usual English one, and German. */
export const cyrillic: readonly Readonly<Record<string, string>>[] = [
  table(
    'а a б b в v г g д d е e ё e ж zh з z и i й i к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts ч ch ш sh щ shch ъ ie ы y ь  э e ю iu я ia і i ї i є ie ґ g',
  ),
  table(
    'а a б b в v г g д d е e ё yo ж zh з z и i й y к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts ч ch ш sh щ shch ъ  ы y ь  э e ю yu я ya і i ї yi є ye ґ g',
  ),
  table(
    'а a б b в w г g д d е e ё jo ж sch з s и i й j к k л l м m н n о o п p р r с s т t у u ф f х ch ц z ч tsch ш sch щ schtsch ъ  ы y ь  э e ю ju я ja і i ї ji є je ґ g',
  ),
]
/** Greek as in passports (ELOT 743), without its rules for pairs of letters, and with them. */
export const greek: readonly Readonly<Record<string, string>>[] = [
  table('α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s τ t υ y φ f χ ch ψ ps ω o'),
  table(
    'ου ou αυ av ευ ev μπ b ντ nt γγ ng γκ gk α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s τ t υ y φ f χ ch ψ ps ω o',
  ),
]
function table(text: string): Record<string, string> {
  const items = text.split(' ')
  const found: Record<string, string> = {}
  for (let at = 0; at + 1 < items.length; at += 2) found[items[at] ?? ''] = items[at + 1] ?? ''
  return found
}

/** Endings of cases by language: the dropped end of the folded base form, and what may follow. Too uncertain to remove. */
export const inflections: readonly { applies: RegExp; drops: RegExp; endings: readonly string[] }[] = [
  {
    applies: /^[а-яіїєґ]{2,}$/,
    drops: /[аяьиоеы]$/,
    endings: 'а у ом ем е ы и ой ей ю я ого ему ому ым им ую'.split(' '),
  },
  {
    applies: /^[a-z]{3,}$/,
    drops: /[aeyio]$/,
    endings: 'a u em ovi e y i ou ove ovou ova ym eho emu ego owi ie'.split(' '),
  },
]
/** Whether a name is Czech, Slovak or Polish, as far as its letters tell. */
export const isWestSlavic = /[ěščřžýůťďňáíéľĺŕąćęłńśźż]|(?:ová|ský|ska|ski|ska|czyk|wicz|ek|ák)\b/iu

/** Words that announce a given or a family name in forms and records, folded. */
export const givenLabels = new Set(
  'first firstname given givenname forename fname vorname rufname prenom nombre nombres nome imie jmeno krestni имя имени 名 voornaam fornavn fornamn etunimi isim ad'.split(
    ' ',
  ),
)
export const familyLabels = new Set(
  'last lastname surname family familyname lname nachname familienname zuname name nom apellido apellidos cognome sobrenome nazwisko prijmeni фамилия фамилии 姓 achternaam etternavn efternamn sukunimi soyisim soyad'.split(
    ' ',
  ),
)
/** Words between such a label and its value. */
export const labelWords = new Set('name names de di do'.split(' '))
