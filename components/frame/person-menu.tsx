'use client'

import { CircleUser } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { Menu } from '#components/ui/menu.tsx'
import { signOut } from '#lib/client/sign-in.ts'
import { forgetDrafts } from './draft.ts'
import { runKey } from './keys.ts'
import { announceSignOut } from './session-ended.tsx'

/** The name of the signed-in person, with links to the account and sign-out. */
export function PersonMenu({ name, hasKeys }: { name: string; hasKeys: boolean }) {
  const t = useTranslations('frame')
  const [state, setState] = useState<'idle' | 'busy' | 'failed'>('idle')
  const leave = () => {
    setState('busy')
    signOut().then(
      () => {
        forgetDrafts()
        announceSignOut()
        window.location.assign('/')
      },
      () => setState('failed'),
    )
  }
  return (
    <>
      <Menu
        lead={t('signedInAs', { name })}
        trigger={
          <Button tone="ghost" size="icon" aria-label={t('account')} title={name}>
            <CircleUser aria-hidden className="size-5" />
          </Button>
        }
        items={[
          { key: 'account', label: t('account'), href: '/account' },
          { key: 'reference', label: t('reference'), href: '/docs/api' },
          { key: 'verify', label: t('verify'), href: '/verify' },
          // Also available when shortcuts are off and on devices without a keyboard.
          ...(hasKeys ? [{ key: 'keys', label: t('help'), onSelect: () => runKey('?') }] : []),
          { key: 'out', label: t('signOut'), onSelect: leave, isDisabled: state === 'busy' },
        ]}
      />
      <span role="status" className="text-sm text-red empty:hidden">
        {state === 'failed' ? t('notSignedOut') : ''}
      </span>
    </>
  )
}
