import type { useTranslations } from 'next-intl'

/** Lists of the API stop counting here. */
const listsCountTo = 1_001

/**
 * A count in words: what was counted up to `limit` may be more, and is told so. `t` is the words of `common`; `isFirst` where it begins
 * the sentence.
 */
export const counted = (
  t: ReturnType<typeof useTranslations<'common'>>,
  total: number,
  { limit = listsCountTo, isFirst = false }: { limit?: number; isFirst?: boolean } = {},
): string =>
  total < limit
    ? t('counted', { count: total, more: 'no' })
    : t('counted', { count: limit - 1, more: isFirst ? 'first' : 'yes' })
