'use client'

import { ShieldAlert } from 'lucide-react'
import { usePathname } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { BannerLine } from '#components/privacy/banner-line.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { Time } from '#components/ui/time.tsx'

const path = '/account/second-factor'

/** Tells a person without a second factor when it is required, on every page except the one that adds it. */
export function RequirementBanner({ from, isMissing }: { from: string; isMissing: boolean }) {
  const t = useTranslations('frame.secondFactor')
  if (usePathname() === path) return null
  return (
    <section aria-label={t('label')} className="border-b border-line print:hidden">
      <BannerLine
        Icon={ShieldAlert}
        isUrgent
        title={t.rich(isMissing ? 'missing' : 'ahead', { time: () => <Time at={from} isDay /> })}
        notes={isMissing ? [t('limited')] : []}
        action={
          <ButtonLink href={path} tone="plain" size="small">
            {t('add')}
          </ButtonLink>
        }
      />
    </section>
  )
}
