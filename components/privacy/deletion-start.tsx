'use client'

import { useTranslations } from 'next-intl'
import { useCurrentTime } from '#components/ui/current-time.ts'
import { Choice } from '#components/ui/field.tsx'
import { Time } from '#components/ui/time.tsx'
import { type Grace, graces } from '#lib/domains/privacy-requests/rules.ts'
import { beginsAt } from './deletion-rules.ts'

/** Whether tokens and sign-in keep working during the grace period, as configured for this installation. */
export interface GraceRules {
  tokens: 'stop' | 'keep'
  signIn: 'stop' | 'keep'
}
interface DeletionStartProps extends GraceRules {
  grace: Grace
  onGrace: (grace: Grace) => void
  /** The deletion waits until the copy is downloaded or expires. */
  withCopy: boolean
  isOfAgent: boolean
}

/** When the deletion starts, and what works until then. */
export function DeletionStart({ grace, onGrace, withCopy, tokens, signIn, isOfAgent }: DeletionStartProps) {
  const t = useTranslations('deletion.when')
  const now = useCurrentTime(10_000)
  const whom = isOfAgent ? 'agent' : 'person'
  return (
    <div className="grid gap-3">
      <Choice
        label={t('label')}
        name="grace"
        isInRow
        value={grace}
        onChange={onGrace}
        options={graces.map((value) => ({ value, title: t(`graces.${value}`) }))}
      />
      <div aria-live="polite" className="grid gap-1">
        {grace === 'now' && !withCopy ? (
          <p className="font-medium">{t('now', { whom })}</p>
        ) : (
          <p>
            {grace === 'now'
              ? t('afterCopy')
              : t.rich('at', { time: () => <Time at={beginsAt(grace, now).toISOString()} /> })}{' '}
            {t(`tokens.${tokens}`, { whom })} {!isOfAgent && t(`signIn.${signIn}`)}
          </p>
        )}
        <p className="text-sm text-quiet">{t('done')}</p>
      </div>
    </div>
  )
}
