'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { issueOf } from '#components/frame/faults.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Field } from '#components/ui/field.tsx'
import { Time } from '#components/ui/time.tsx'
import { longestPassword } from '#lib/domains/accounts/rules.ts'
import { type Identities, unlinkAt } from './endpoints.ts'
import { hostOf } from './issuer.ts'

/** The identity provider sign-ins that are linked to the account. */
export function IdentityList({ identities, hasPassword }: { identities: Identities; hasPassword: boolean }) {
  const t = useTranslations('account')
  const unlinking = useApiMutation(unlinkAt)
  const [chosen, setChosen] = useState<Identities[number]>()
  const [password, setPassword] = useState('')
  const close = () => {
    setChosen(undefined)
    setPassword('')
  }
  const isWrong = issueOf(unlinking.problem, 'password') !== undefined
  const issuer = hostOf(chosen?.issuer ?? '')
  return (
    <div className="grid gap-2">
      <ul className="divide-y divide-line rounded-box border border-line bg-raised">
        {identities.map((identity) => (
          <li key={identity.identity_id} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
            <div className="min-w-0 grow basis-64">
              <p className="font-medium [overflow-wrap:anywhere]">{hostOf(identity.issuer)}</p>
              <p className="text-sm text-quiet">{t.rich('linked', { time: () => <Time at={identity.linked_at} /> })}</p>
            </div>
            {hasPassword && (
              <Button
                tone="plain"
                size="small"
                aria-label={t('unlinkNamed', { issuer: hostOf(identity.issuer) })}
                onClick={() => setChosen(identity)}
              >
                {t('unlink')}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {!hasPassword && <p className="text-sm text-quiet">{t('unlinkNeedsPassword')}</p>}
      <Confirm
        open={chosen !== undefined}
        onOpenChange={(open) => !open && close()}
        title={t('unlinkTitle', { issuer })}
        consequences={<p>{t('unlinkText', { issuer })}</p>}
        action={t('unlink')}
        change={{ ...unlinking, problem: isWrong ? undefined : unlinking.problem }}
        isIncomplete={password === ''}
        onConfirm={() => chosen && unlinking.begin({ params: { id: chosen.identity_id }, body: { password } }, close)}
      >
        <Field
          label={t('unlinkPassword')}
          name="password"
          type="password"
          autoComplete="current-password"
          maxLength={longestPassword}
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          error={isWrong ? t('unlinkWrong') : undefined}
          required
        />
      </Confirm>
    </div>
  )
}
