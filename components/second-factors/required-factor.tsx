'use client'

import { useTranslations } from 'next-intl'
import { useApiQuery } from '#components/frame/api-query.ts'
import { PlainButtonLink } from '#components/ui/button.tsx'
import { type Factors, factorsAt } from './endpoints.ts'
import { FactorList } from './factor-list.tsx'

/** The second factors of a person who must have one, and the way on once there is one that is enough for this session. */
export function RequiredFactor({ initial, isEnough }: { initial: Factors; isEnough: boolean }) {
  const t = useTranslations('secondFactors.required')
  const query = useApiQuery(factorsAt, {}, { initial: { data: initial } })
  const isAdded = (query.data?.data ?? initial).factors.length > 0
  return (
    <div className="grid gap-4">
      <FactorList initial={initial} />
      {isAdded && isEnough && (
        // Loads the page again: the frame around this one has no navigation.
        <PlainButtonLink href="/overview" className="justify-self-start">
          {t('continue')}
        </PlainButtonLink>
      )}
    </div>
  )
}
