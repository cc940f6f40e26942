'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { providerAddress, SignInRefused } from '#lib/client/sign-in.ts'

/** Redirects to the identity provider, which redirects back to `next`. */
export function ProviderButton({
  name,
  next,
  onRefused,
}: {
  name: string
  next: string
  onRefused: (refused: SignInRefused) => void
}) {
  const t = useTranslations('signIn')
  const [isBusy, setBusy] = useState(false)
  const go = () => {
    if (isBusy) return
    setBusy(true)
    providerAddress(next).then(
      (address) => window.location.assign(address),
      (error: unknown) => {
        setBusy(false)
        onRefused(error instanceof SignInRefused ? error : new SignInRefused('unreachable'))
      },
    )
  }
  return (
    <Button tone="plain" onClick={go} aria-disabled={isBusy} className="w-full">
      <span className="truncate">{t(isBusy ? 'withBusy' : 'with', { provider: name })}</span>
    </Button>
  )
}
