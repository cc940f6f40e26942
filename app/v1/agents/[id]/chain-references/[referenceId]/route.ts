import { app, route } from '#lib/app.ts'

export const DELETE = route(app.agents.deleteChainReference)
