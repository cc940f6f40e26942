'use client'

import { Command } from 'cmdk'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { Dialog } from '#components/ui/dialog.tsx'
import { inputLook } from '#components/ui/field.tsx'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { hasNames, mayOpen, type PageEntry, pages } from './pages.ts'

interface CommandPaletteProps {
  open: boolean
  onOpenChange: (open: boolean) => void
  role: Role
}

const hidden = new Set(['signIn', 'forgotten', 'newPassword', 'confirm', 'home'])

/** Lists every page that the reader may open, by its localized name. */
export function CommandPalette({ open, onOpenChange, role }: CommandPaletteProps) {
  const t = useTranslations('frame')
  const names = useTranslations('pages')
  const router = useRouter()
  const go = (path: string) => {
    onOpenChange(false)
    router.push(path)
  }
  const entries = pages.filter((entry) => !hasNames(entry) && mayOpen(entry, role) && !hidden.has(entry.name))
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t('paletteTitle')}>
      <Command label={t('paletteTitle')} loop className="grid gap-3">
        <Command.Input autoFocus placeholder={t('palette')} className={inputLook} />
        <Command.List className="max-h-[50vh] overflow-y-auto">
          <Command.Empty className="px-3 py-4 text-quiet">{t('paletteEmpty')}</Command.Empty>
          {entries.map((entry: PageEntry & { name: (typeof entries)[number]['name'] }) => (
            <Command.Item
              key={entry.name}
              value={names(entry.name)}
              keywords={[entry.path, entry.name]}
              onSelect={() => go(entry.path)}
              className="flex min-h-9 items-center justify-between gap-4 rounded-small px-3 py-1.5 data-[selected=true]:bg-sunken"
            >
              {names(entry.name)}
              {entry.keys && <kbd className="font-mono text-sm text-quiet">{entry.keys}</kbd>}
            </Command.Item>
          ))}
        </Command.List>
      </Command>
    </Dialog>
  )
}
