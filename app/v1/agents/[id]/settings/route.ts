import { app, route } from '#lib/app.ts'

export const PATCH = route(app.agents.setSettings)
