import type { useTranslations } from 'next-intl'

/** The API stops counting list rows at this number. */
const listsCountTo = 1_001

/**
 * A count in words. A count that reached `limit` is shown as "more than". `t` translates `common`; `isFirst` capitalizes it for the start
 * of a sentence.
 */
export const countText = (
  t: ReturnType<typeof useTranslations<'common'>>,
  total: number,
  { limit = listsCountTo, isFirst = false }: { limit?: number; isFirst?: boolean } = {},
): string =>
  total < limit
    ? t('counted', { count: total, more: 'no' })
    : t('counted', { count: limit - 1, more: isFirst ? 'first' : 'yes' })
