'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { issueOf } from '#components/frame/faults.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button, ButtonLink } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { usePasswordLinkAt } from './endpoints.ts'
import { NewPasswordFields } from './new-password-fields.tsx'
import { refusedFor } from './password-faults.ts'

type Fault = { field: 'next' | 'again'; reason: ReturnType<typeof refusedFor> | 'different' }
const codeIn = (fragment: string) => /^#([0-9A-Za-z]{43})$/.exec(fragment)?.[1]

/** Sets a password with the code in the address. Nothing happens before the button is pressed. */
export function NewPasswordForm() {
  const t = useTranslations('password')
  const form = useRef<HTMLFormElement>(null)
  const [code, setCode] = useState<string | null>()
  const [fault, setFault] = useState<Fault>()
  const using = useApiMutation(usePasswordLinkAt)
  const { reset } = using
  // The server never receives the fragment, so the first render does not have it.
  useEffect(() => {
    const read = () => {
      setCode(codeIn(window.location.hash) ?? null)
      reset()
    }
    read()
    window.addEventListener('hashchange', read)
    return () => window.removeEventListener('hashchange', read)
  }, [reset])

  const refusal = issueOf(using.problem, 'new_password')
  const shown: Fault | undefined =
    fault ?? (refusal === undefined ? undefined : { field: 'next', reason: refusedFor(refusal) })
  const errorOf = (field: Fault['field']) => (shown?.field === field ? t(`faults.${shown.reason}`) : undefined)

  if (using.isSuccess)
    return (
      <Alert tone="done" title={t('new.done')} isLive>
        {using.data.data.sessions_ended > 0 && <p>{t('new.doneText', { count: using.data.data.sessions_ended })}</p>}
        <p>
          <ButtonLink href="/sign-in" size="small">
            {t('new.signIn')}
          </ButtonLink>
        </p>
      </Alert>
    )
  const isSpent = using.problem?.code === 'link_spent'
  if (code === null || isSpent)
    return (
      <Alert tone="warning" title={t(isSpent ? 'new.spent' : 'new.noCode')} isLive>
        <p>{t(isSpent ? 'new.spentText' : 'new.noCodeText')}</p>
        <p>
          <ButtonLink href="/password/forgotten" size="small" tone="plain">
            {t('new.getNew')}
          </ButtonLink>
        </p>
      </Alert>
    )
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (code === undefined) return
    const given = new FormData(event.currentTarget)
    const next = String(given.get('next'))
    reset()
    if (next !== String(given.get('again'))) {
      setFault({ field: 'again', reason: 'different' })
      form.current?.querySelector<HTMLInputElement>('[name="again"]')?.focus()
      return
    }
    setFault(undefined)
    using.begin({ body: { code, new_password: next } }, () =>
      // Remove the used code from the history.
      window.history.replaceState(null, '', window.location.pathname),
    )
  }
  return (
    <form ref={form} method="post" onSubmit={submit} className="grid gap-5">
      {using.problem && !refusal && <ProblemAlert problem={using.problem} />}
      <NewPasswordFields errorOf={errorOf} />
      <Button type="submit" aria-disabled={using.isPending || code === undefined} className="justify-self-start">
        {using.isPending ? t('new.busy') : t('new.submit')}
      </Button>
    </form>
  )
}
