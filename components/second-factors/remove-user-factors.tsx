'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { removeUserFactorsAt } from './endpoints.ts'

/** An admin removes the second factors of a person who has lost them all. `onDone` receives the result in words. */
export function RemoveUserFactors({
  user: { account_id: id, name },
  onDone,
}: {
  user: { account_id: string; name: string }
  onDone: (words: string) => void
}) {
  const t = useTranslations('secondFactors.admin')
  const [isOpen, setOpen] = useState(false)
  const removing = useApiMutation(removeUserFactorsAt)
  return (
    <>
      <Button tone="plain" size="small" onClick={() => setOpen(true)}>
        {t('remove')}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={t('title', { name })}
        consequences={<p>{t('text')}</p>}
        action={t('remove')}
        needsApproval
        change={removing}
        onConfirm={() =>
          removing.begin({ params: { id } }, ({ data }) => {
            setOpen(false)
            onDone(t('done', { count: data.factors_removed }))
          })
        }
      />
    </>
  )
}
