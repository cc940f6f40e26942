/** Pairs of a look-alike letter and the Latin letter it resembles. */
const LOOK_ALIKES = `
аa вb еe зz иu кk мm нh оo пn рp сc тt уy хx ѕs іi јj ԁd ԛq ԝw һh ѵv гr ьb ӏl ԍg ԏt ӕae ґr ҽe ҫc ҏp ңh ҳx ѡw
АA ВB ЕE КK МM НH ОO РP СC ТT УY ХX ЅS ІI ЈJ ԀD ԚQ ԜW ҺH ѴV ӀI ԌG ЗZ
αa βb γy δd εe ζz ηn ιi κk λl μu νv οo πn ρp σo ςs τt υu χx ωw ϲc ϳj ϑo ϱp
ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ϹC ͿJ
օo սu հh ոn յj ցg զq քp ռn ղn աw ԱU ՍU ՏS ՕO ԼL ՀH
ᎠD ᎡR ᎢT ᎥI ᎪA ᎫJ ᎬE ᎳW ᎷM ᎻH ᎽY ᏀG ᏃZ ᏒR ᏔW ᏕS ᏙV ᏚS ᏞL ᏟC ᏢP ᏦK ᏧD ᏴB ᏻG ᏤV ᏂH
ꓐB ꓑP ꓓD ꓔT ꓖG ꓗK ꓙJ ꓚC ꓜZ ꓝF ꓟM ꓠN ꓡL ꓢS ꓣR ꓦV ꓧH ꓪW ꓫX ꓬY ꓮA ꓰE ꓲI ꓳO ꓴU
ⲁa ⲃb ⲉe ⲓi ⲕk ⲙm ⲛn ⲟo ⲣp ⲥc ⲧt ⲩy ⲭx
ıi ɩi ɪi ɑa ɡg ɢg ƒf ɴn ʀr ʏy ʙb ʜh ʟl ɾr ɯw ʋu ʍm ᴀa ᴄc ᴅd ᴇe ᴊj ᴋk ᴍm ᴏo ᴑo ᴘp ᴛt ᴜu ᴠv ᴡw ᴢz ꜱs ꞮI
øo łl đd ħh ŧt ȷj ɨi ɵo ƚl ɓb ɗd ɖd ɛe ƙk ɲn ŋn ƥp ɍr ƭt ɏy ƶz ØO ŁL ĐD ĦH ŦT
∶: ː: ꞉: ׃: ։: ܃: ‹< 〈< ⟨< ❮< ›> 〉> ⟩> ❯> ǀ| ∣| │| ❘| ⏐| ׀| ⟦[ ⟧] ❲[ ❳] ⁄/ ∕/ ⧸/
’' ‘' ‛' ʼ' ′' “" „" ‟" ″" «" »"`

const HOMOGLYPHS = new Map<string, string>()
for (const pair of LOOK_ALIKES.trim().split(/\s+/)) {
  const [character, ...latin] = pair
  if (character !== undefined && latin.length > 0) HOMOGLYPHS.set(character, latin.join(''))
}
HOMOGLYPHS.set('”', '"')

/** Blank characters that are not format characters: Hangul fillers and the empty Braille cell. */
const BLANK = /^[\u115F\u1160\u2800\u3164\uFFA0]$/u
/** Format characters; allowed in some contexts, but never part of a word's appearance. */
const INVISIBLE = /^\p{Cf}$/u
/** All scripts except East Asian ones, whose many characters fold to themselves. */
const FOLDABLE = /[\u0080-\u2E7F\uFEFF\u3164\uA490-\uABFF\uF900-\u{16FFF}\u{1D000}-\u{1FFFF}]/gu
const folded = new Map<string, string>()

/**
 * Folds one character to its appearance: Latin, lower case, without marks; compatibility forms (full width, mathematical, circled) and
 * look-alikes are resolved by NFKD and a table.
 */
function foldCharacter(character: string): string {
  const known = folded.get(character)
  if (known !== undefined) return known
  if (INVISIBLE.test(character)) {
    folded.set(character, '')
    return ''
  }
  const plain = BLANK.test(character) ? ' ' : character.normalize('NFKD').replace(/\p{M}/gu, '')
  const value = Array.from(plain, (part) => HOMOGLYPHS.get(part) ?? part)
    .join('')
    .toLowerCase()
  folded.set(character, value)
  return value
}

/** A copy for comparison, never for storage. Its length may differ from `text` unless that is ASCII. */
export const fold = (text: string): string => text.replace(FOLDABLE, foldCharacter).toLowerCase()

/** Offset in `text` of the character at `offset` in `fold(text)`. */
export function unfold(text: string, offset: number): number {
  let position = 0
  let copied = 0
  for (const character of text) {
    copied += fold(character).length
    if (copied > offset) return position
    position += character.length
  }
  return position
}
