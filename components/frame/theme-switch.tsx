'use client'

import { Monitor, Moon, Sun } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useTheme } from 'next-themes'
import { useSyncExternalStore } from 'react'
import { Button } from '#components/ui/button.tsx'

const next = { system: 'light', light: 'dark', dark: 'system' } as const
const icons = { system: Monitor, light: Sun, dark: Moon }
const isTheme = (text: string | undefined): text is keyof typeof next => text !== undefined && text in next
const never = () => () => {}

/** Cycles through light, dark and system theme. */
export function ThemeSwitch() {
  const t = useTranslations('frame')
  const { theme, setTheme } = useTheme()
  // The server does not know the choice, so it is shown after hydration.
  const isAlive = useSyncExternalStore(
    never,
    () => true,
    () => false,
  )
  const current = isAlive && isTheme(theme) ? theme : 'system'
  const Icon = icons[current]
  const label = t('theme', { theme: t(`themes.${current}`), next: t(`themes.${next[current]}`) })
  return (
    <Button tone="ghost" size="icon" onClick={() => setTheme(next[current])} title={label} aria-label={label}>
      <Icon aria-hidden className="size-4.5" />
    </Button>
  )
}
