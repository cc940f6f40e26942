'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { signOut } from '#lib/client/sign-in.ts'

export function SignOutButton() {
  const t = useTranslations('frame')
  const [state, setState] = useState<'idle' | 'busy' | 'failed'>('idle')
  const leave = () => {
    setState('busy')
    signOut().then(
      () => window.location.assign('/'),
      () => setState('failed'),
    )
  }
  return (
    <>
      <Button tone="ghost" size="small" onClick={leave} disabled={state === 'busy'}>
        {t('signOut')}
      </Button>
      <span role="status" className="text-sm text-red empty:hidden">
        {state === 'failed' ? t('notSignedOut') : ''}
      </span>
    </>
  )
}
