'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useRef } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { CodeField } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { claimAt } from './agents.ts'
import { isolated } from './names.ts'

/** Problems of the token are shown at its field, all others above the form. */
const ofToken = new Set([
  'not_found',
  'token_invalid',
  'token_expired',
  'token_revoked',
  'invalid',
  'forbidden',
  'conflict',
])

export function ClaimForm() {
  const t = useTranslations('claim')
  const problems = useTranslations('problems')
  const form = useRef<HTMLFormElement>(null)
  const claim = useApiMutation(claimAt, { touches: ['/api/agents', '/v1/auth/tokens', '/api/knowledge'] })
  const { problem } = claim
  const isOfToken = problem !== undefined && ofToken.has(problem.code)

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const token = String(new FormData(event.currentTarget).get('token')).trim()
    claim.begin({ body: { token } }, () => form.current?.reset())
  }
  const faultOf = (code: string): string => {
    if (code === 'conflict') return t('taken')
    if (code === 'forbidden') return t('tooSmall')
    if (code === 'token_expired' || code === 'token_revoked') return problems(`${code}.what`)
    return t('unknown')
  }

  return (
    <form
      ref={form}
      method="post"
      onSubmit={submit}
      className="grid max-w-[45rem] gap-4 rounded-box border border-line bg-raised p-4"
    >
      <p className="text-quiet">{t('lead')}</p>
      {problem && !isOfToken && <ProblemAlert problem={problem} />}
      {claim.isSuccess && (
        <Alert
          tone="done"
          title={t('done', { name: isolated(claim.data.data.name ?? claim.data.data.agent_id) })}
          isLive
        />
      )}
      <CodeField
        label={t('token')}
        hint={t('hint')}
        name="token"
        maxLength={200}
        error={problem && isOfToken ? faultOf(problem.code) : undefined}
        required
      />
      <Button type="submit" tone="plain" aria-disabled={claim.isPending} className="justify-self-start">
        {claim.isPending ? t('busy') : t('submit')}
      </Button>
    </form>
  )
}
