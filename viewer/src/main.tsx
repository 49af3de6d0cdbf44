import { createRoot } from "react-dom/client";
import { App } from "./app";
import { restoreScheme } from "./theme";
import "./style.css";

restoreScheme();
const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);
