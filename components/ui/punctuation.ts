import { useLocale } from 'next-intl'

/** A space between digits and Chinese characters, as in all Chinese texts: "3 天". Not for dates. */
export const spacedDigits = (text: string): string => text.replace(/(\d)(?=\p{Script=Han})/gu, '$1 ')

/** A value within a Chinese sentence, with a space where Latin letters or digits touch Chinese characters. The value stays as it is. */
export const besideChinese = (value: string): string =>
  `${/^[\p{Script=Latin}\d]/u.test(value) ? ' ' : ''}${value}${/[\p{Script=Latin}\d]$/u.test(value) ? ' ' : ''}`
/** A Chinese sentence of such values, without doubled spaces and spaces at its punctuation. */
export const tidyChinese = (sentence: string): string =>
  sentence
    .replace(/ {2,}/g, ' ')
    .replace(/ (?=[，。、：；？！”）])|(?<=[，。、：；？！“（]) /gu, '')
    .trim()

/** Punctuation between values that are shown in one line. Chinese has its own comma, colon and brackets. */
export function punctuationOf(locale: string) {
  const isChinese = locale === 'zh'
  return {
    list: (values: readonly string[]): string => values.join(isChinese ? '、' : ', '),
    colon: isChinese ? '：' : ': ',
    /** Between sentences. A Chinese full stop contains its space. */
    space: isChinese ? '' : ' ',
    open: isChinese ? '（' : ' (',
    close: isChinese ? '）' : ')',
  }
}
export const usePunctuation = () => punctuationOf(useLocale())
/** The space between two sentences, or between a sentence and a link. */
export const Space = (): string => usePunctuation().space
