'use client'

import { useMutation } from '@tanstack/react-query'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { type FormEvent, useRef, useState } from 'react'
import { useStepUp } from '#components/frame/step-up.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Button, ButtonLink } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { type Endpoint, RequestRefused, request } from '#lib/client/request.ts'
import type { changePassword } from '#lib/domains/accounts/contract.ts'
import { longestPassword, type PasswordFault, passwordFault } from '#lib/domains/accounts/rules.ts'
import { NewPasswordFields } from './new-password-fields.tsx'
import { refusedFor } from './password-faults.ts'

const changeAt: Endpoint<typeof changePassword> = { method: 'post', path: '/api/account/password' }

type FieldName = 'current' | 'next' | 'again'
type Fault = { field: FieldName; reason: PasswordFault | 'other' | 'wrong' | 'different' }

/**
 * `email` is the address of the account: it must not be the password, and password managers need it. `isFirst`: the password replaces the
 * one-time password of a new account.
 */
export function PasswordForm({ email, isFirst }: { email: string; isFirst: boolean }) {
  const t = useTranslations('password')
  const router = useRouter()
  const stepUp = useStepUp()
  const form = useRef<HTMLFormElement>(null)
  const [fault, setFault] = useState<Fault>()
  // The account changes with the answer, and the next step depends on what it was before.
  const [wasFirst] = useState(isFirst)

  const show = (found: Fault) => {
    setFault(found)
    form.current?.querySelector<HTMLInputElement>(`[name="${found.field}"]`)?.focus()
  }
  const change = useMutation({
    mutationFn: (body: { current_password: string; new_password: string }) => stepUp(() => request(changeAt, { body })),
    onSuccess: () => router.refresh(),
    onError: (error) => {
      const issues = error instanceof RequestRefused ? (error.problem.issues ?? []) : []
      const about = (field: string) => issues.find(({ path }) => path[0] === field)
      const next = about('new_password')
      if (about('current_password')) show({ field: 'current', reason: 'wrong' })
      else if (next) show({ field: 'next', reason: refusedFor(next.message) })
    },
  })

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (change.isPending) return
    const given = new FormData(event.currentTarget)
    const [current = '', next = '', again = ''] = ['current', 'next', 'again'].map((name) => String(given.get(name)))
    setFault(undefined)
    const reason = passwordFault(next, current, email)
    if (reason) return show({ field: 'next', reason })
    if (next !== again) return show({ field: 'again', reason: 'different' })
    change.mutate({ current_password: current, new_password: next })
  }
  const errorOf = (field: FieldName) => (fault?.field === field ? t(`faults.${fault.reason}`) : undefined)
  const refusal =
    change.error instanceof RequestRefused && change.error.problem.code !== 'step_up_required' && !fault
      ? change.error.problem
      : undefined

  if (change.isSuccess)
    return (
      <Alert tone="done" title={t('changed')} isLive>
        {change.data.data.sessions_ended > 0 && <p>{t('ended', { count: change.data.data.sessions_ended })}</p>}
        <p>
          <ButtonLink href={wasFirst ? '/overview' : '/account'} size="small">
            {t(wasFirst ? 'start' : 'continue')}
          </ButtonLink>
        </p>
      </Alert>
    )
  return (
    <form ref={form} method="post" onSubmit={submit} className="grid gap-5">
      {refusal && <ProblemAlert problem={refusal} />}
      <input type="hidden" name="email" autoComplete="username" value={email} readOnly />
      <Field
        label={t('current')}
        name="current"
        type="password"
        autoComplete="current-password"
        maxLength={longestPassword}
        error={errorOf('current')}
        required
      />
      <NewPasswordFields errorOf={errorOf} />
      <Button type="submit" aria-disabled={change.isPending} className="justify-self-start">
        {change.isPending ? t('busy') : t('submit')}
      </Button>
    </form>
  )
}
