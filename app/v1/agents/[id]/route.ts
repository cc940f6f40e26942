import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.agents.readAgent)
export const PATCH = route(app.agents.edit)
