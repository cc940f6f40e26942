import { useLocale } from 'next-intl'

/** A space between digits and Chinese characters, as in all Chinese texts: "3 天". Not for dates. */
export const spacedDigits = (text: string): string => text.replace(/(\d)(?=\p{Script=Han})/gu, '$1 ')

/** Punctuation between values that are shown in one line. Chinese has its own comma, colon and brackets. */
export function punctuationOf(locale: string) {
  const isChinese = locale === 'zh'
  return {
    list: (values: readonly string[]): string => values.join(isChinese ? '、' : ', '),
    colon: isChinese ? '：' : ': ',
    open: isChinese ? '（' : ' (',
    close: isChinese ? '）' : ')',
  }
}
export const usePunctuation = () => punctuationOf(useLocale())
