'use client'

import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/browser'
import { KeyRound } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { request } from '#lib/client/request.ts'
import { SignInRefused, signInWithPasskey } from '#lib/client/sign-in.ts'
import { startPasskeySignInAt } from './endpoints.ts'

/** The response of a passkey that the browser offers, as JSON. Undefined if the person dismissed the browser's dialog. */
export async function passkeyAnswer(): Promise<string | undefined> {
  const { data } = await request(startPasskeySignInAt, {})
  const { startAuthentication } = await import('@simplewebauthn/browser')
  // The server made these options with the library of the same version.
  const optionsJSON = data as unknown as PublicKeyCredentialRequestOptionsJSON
  const response = await startAuthentication({ optionsJSON }).catch(() => undefined)
  return response && JSON.stringify(response)
}

/** Signs in with a passkey that the browser offers. A dismissed dialog changes nothing. */
export function PasskeyButton({
  next,
  onRefused,
}: {
  /** The internal path to open after signing in. */
  next: string
  onRefused: (refused: SignInRefused | undefined) => void
}) {
  const t = useTranslations('signIn')
  const [isBusy, setBusy] = useState(false)
  const signIn = async () => {
    const response = await passkeyAnswer()
    if (response === undefined) return
    await signInWithPasskey(response)
    // A full page load, because everything on the page depends on the signed-in person.
    window.location.assign(next)
  }
  const begin = () => {
    if (isBusy) return
    setBusy(true)
    onRefused(undefined)
    signIn()
      .catch((error: unknown) => onRefused(error instanceof SignInRefused ? error : new SignInRefused('internal')))
      .finally(() => setBusy(false))
  }
  return (
    <Button tone="plain" aria-disabled={isBusy} onClick={begin}>
      <KeyRound aria-hidden className="size-4.5" />
      {t('passkey')}
    </Button>
  )
}
