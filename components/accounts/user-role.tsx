'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Choice } from '#components/ui/field.tsx'
import { type Role, roles } from '#lib/domains/accounts/rules.ts'
import { roleAt, usersAt } from './endpoints.ts'

/** Changes a role after showing what the new role may do. */
export function UserRole({ id, name, role }: { id: string; name: string; role: Role }) {
  const t = useTranslations('users')
  const roleNames = useTranslations('roles.names')
  const may = useTranslations('roles.may')
  const [chosen, setChosen] = useState(role)
  const [isConfirming, setConfirming] = useState(false)
  const giving = useApiMutation(roleAt, { touches: [usersAt.path] })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (chosen !== role) setConfirming(true)
  }
  return (
    <form onSubmit={submit} className="grid gap-4">
      {giving.isSuccess && <Alert tone="done" title={t('user.roleSaved', { role: roleNames(role) })} isLive />}
      <Choice
        label={t('user.roleTitle')}
        isLabelHidden
        name="role"
        value={chosen}
        onChange={setChosen}
        options={roles.map((one) => ({ value: one, title: roleNames(one), text: may(one) }))}
      />
      <Button type="submit" tone="plain" aria-disabled={chosen === role} className="justify-self-start">
        {t('user.roleSave')}
      </Button>
      <Confirm
        open={isConfirming}
        onOpenChange={setConfirming}
        title={t('user.roleConfirm', { name, role: roleNames(chosen) })}
        consequences={
          <p>
            {t('user.roleConsequence', {
              from: roleNames(role),
              to: roleNames(chosen),
              may: may(chosen),
            })}
          </p>
        }
        action={t('user.roleSave')}
        needsApproval
        tone="main"
        change={giving}
        onConfirm={() => giving.begin({ params: { id }, body: { role: chosen } }, () => setConfirming(false))}
      />
    </form>
  )
}
