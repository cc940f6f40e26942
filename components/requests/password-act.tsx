'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { useLoaded } from '#components/ui/loaded.ts'
import type { PasswordActProps } from './password-dialog.tsx'

const dialog = () => import('./password-dialog.tsx')

/** A sensitive action, which asks for the password again. */
export function PasswordAct(props: PasswordActProps) {
  const t = useTranslations('requests.request.actions')
  const [isOpen, setOpen] = useState(false)
  const loaded = useLoaded(dialog, isOpen)
  return (
    <>
      <Button tone="plain" onClick={() => setOpen(true)}>
        {t(props.act)}
      </Button>
      {loaded && <loaded.PasswordDialog {...props} open={isOpen} onOpen={setOpen} />}
    </>
  )
}
