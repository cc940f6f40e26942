import { app, route } from '#lib/app-instance.ts'

export const DELETE = route(app.erasing.eraseMessage)
export const GET = route(app.projects.readMessage)
export const PATCH = route(app.projects.editMessage)
