'use client'

import type { ComponentProps } from 'react'
import { Select } from './field.tsx'
import { useRegionTitle } from './region-words.ts'

interface RegionSelectProps extends Pick<ComponentProps<typeof Select>, 'label' | 'hint'> {
  /** Empty for no limit. */
  value: string
  /** The regions that can be chosen. The current one is always added. */
  regions: readonly string[]
  /** The title of the option without a limit; "Any region" by default. */
  anywhere?: string
  present?: string | null
  onChange: (region: string) => void
}
/** A choice of the region where data is stored. */
export function RegionSelect({ value, regions, anywhere, present, onChange, ...rest }: RegionSelectProps) {
  const titleOf = useRegionTitle()
  const values = [...new Set(['', ...regions, present ?? value])]
  return (
    <Select
      {...rest}
      name="region"
      value={value}
      options={values.map((one) => ({ value: one, title: one === '' && anywhere ? anywhere : titleOf(one) }))}
      onChange={({ target }) => onChange(target.value)}
    />
  )
}
