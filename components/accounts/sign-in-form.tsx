'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { SecondFactorCodeField } from '#components/second-factors/code-field.tsx'
import { PasskeyButton } from '#components/second-factors/passkey-button.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { SignInRefused, signInRefusal, signInWithPassword } from '#lib/client/sign-in.ts'
import { ProviderButton } from './provider-button.tsx'

interface SignInFormProps {
  /** The internal path to open after signing in. */
  next: string
  /** The name of the identity provider, as configured. */
  provider?: string | undefined
  /** The error code in the address after a failed redirect. */
  error?: string | undefined
}

export function SignInForm({ next, provider, error }: SignInFormProps) {
  const t = useTranslations('signIn')
  const [isBusy, setBusy] = useState(false)
  const [refused, setRefused] = useState(() => (error === undefined ? undefined : signInRefusal(error)))
  /** Set once the password was right and the account has a second factor. */
  const [needsCode, setNeedsCode] = useState(false)
  const passwordInput = useRef<HTMLInputElement>(null)
  const codeInput = useRef<HTMLInputElement>(null)

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (isBusy) return
    const form = new FormData(event.currentTarget)
    setBusy(true)
    setRefused(undefined)
    const code = form.get('code')
    signInWithPassword({
      email: String(form.get('email')),
      password: String(form.get('password')),
      code: typeof code === 'string' ? code : undefined,
    }).then(
      // A full page load, because everything on the page depends on the signed-in person.
      () => window.location.assign(next),
      (error: unknown) => {
        setBusy(false)
        const refusal = error instanceof SignInRefused ? error : new SignInRefused('internal')
        const isCode = refusal.reason === 'second_factor_needed' || refusal.reason === 'second_factor_wrong'
        flushSync(() => {
          setRefused(refusal.reason === 'second_factor_needed' ? undefined : refusal)
          if (isCode) setNeedsCode(true)
        })
        const field = isCode ? codeInput.current : passwordInput.current
        field?.select()
        field?.focus()
      },
    )
  }

  // Only wrong codes are locked for longer than a minute.
  const told = refused?.reason === 'rate_limited' && (refused.retryAfter ?? 0) > 60 ? 'codes_locked' : refused?.reason
  return (
    // If it is submitted before hydration, POST keeps the password out of the address.
    <form method="post" onSubmit={submit} className="grid gap-5">
      {refused && told && (
        <Alert
          tone={refused.reason === 'wrong' ? 'danger' : 'warning'}
          title={t(`refused.${told}.title`, { provider: provider ?? 'OpenID' })}
          isLive
        >
          <p>{t(`refused.${told}.text`, { seconds: refused.retryAfter ?? 60, provider: provider ?? 'OpenID' })}</p>
        </Alert>
      )}
      {provider !== undefined && (
        <>
          <ProviderButton name={provider} next={next} onRefused={setRefused} />
          <p className="flex items-center gap-3 text-sm text-quiet before:h-px before:grow before:bg-line after:h-px after:grow after:bg-line">
            {t('or')}
          </p>
        </>
      )}
      <Field
        label={t('email')}
        name="email"
        type="email"
        autoComplete="username"
        inputMode="email"
        maxLength={320}
        required
      />
      <Field
        label={t('password')}
        name="password"
        type="password"
        autoComplete="current-password"
        maxLength={200}
        required
        ref={passwordInput}
      />
      {needsCode && <SecondFactorCodeField ref={codeInput} />}
      <Button type="submit" aria-disabled={isBusy}>
        {isBusy ? t('busy') : t('submit')}
      </Button>
      <PasskeyButton next={next} onRefused={setRefused} />
    </form>
  )
}
